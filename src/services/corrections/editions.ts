import { z } from 'zod';
import { DocketError } from '../../base/error.ts';
import { storedOrgSchema } from '../../definitions/schema/org-settings.ts';
import type { CorrectionArchive } from '../../deliver/archive/corrections/correction-archive.ts';
import type { OpenedEvent } from '../../deliver/archive/corrections/correction-event.ts';
import type { Manifest, PackRecord } from '../../deliver/archive/manifest.ts';
import { parseMetadata } from '../../deliver/archive/run-folder/run-metadata.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import { isSupersededBy, NOTICE_TARGET } from '../../deliver/ledger/ledger.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { type EditionFigures, editionFiguresSchema } from '../../run/corrections/edition-figures.ts';
import type { Deployment } from '../deployment/deployment.ts';
import type { Correction } from './correction.ts';

/** A recipient who has received an edition, or may have. */
export interface EditionRecipient {
  /** Position and kind in the definition, e.g. `0-email`. */
  readonly target: string;
  readonly recipient: string;
}

/** A published run. */
export interface Edition {
  readonly run: RunRef;
  readonly manifest: Manifest;
  /** SHA-256 (hex) of its figures; undefined if they are not stored. */
  readonly hash: string | undefined;
  readonly recipients: readonly EditionRecipient[];
  /** Recipients whose delivery was withdrawn: they get a corrected edition instead. */
  readonly withdrawn: readonly EditionRecipient[];
  /** When it was last delivered, epoch ms; null until somebody has received it. */
  readonly deliveredAt: number | null;
  /**
   * With `split`: each pack as its recipients have it. A pack that this edition does not correct comes from an earlier
   * edition; its recipients are also in `recipients`.
   */
  readonly packs?: readonly EditionPack[];
}

/** The pack of one value, from the last edition that somebody received or whose delivery was withdrawn. */
export interface EditionPack extends Pick<PackRecord, 'value' | 'label' | 'slug'> {
  readonly run: string;
  readonly manifest: Manifest;
  readonly recipients: readonly EditionRecipient[];
  readonly withdrawn: readonly EditionRecipient[];
  /** Epoch ms. */
  readonly at: number;
}

/** The pack that a recipient has; undefined in a report without `split`. */
export const findPack = ({ packs }: Edition, { target }: EditionRecipient): EditionPack | undefined =>
  packs?.find(({ slug }) => target.endsWith(`:${slug}`));

const ARRIVED: ReadonlySet<string> = new Set(['sent', 'unknown', 'sending']);
const KEPT: ReadonlySet<string> = new Set([...ARRIVED, 'withdrawn']);

/** Loads the edition of a run; undefined if the run is not published. Throws `archive.*`, `redis.unreachable`. */
export async function loadEdition(run: RunRef, deployment: Deployment): Promise<Edition | undefined> {
  const { archive, ledger } = deployment;
  const published = await archive.peek(run);
  if (published === undefined) return undefined;
  const states = await archive.getArchivedStates(published);
  const found = new Map<string, { readonly of: EditionRecipient; readonly at: number; readonly state: string }>();
  const { made_at: madeAt, review } = published.manifest;
  // Receipts have no time. Files that wait for approval are made days before they are sent.
  const archivedAt = Math.max(
    ...[madeAt, ...(review?.approved_by ?? []).map(({ at }) => at)].map((at) => Date.parse(at)),
  );
  // The archive names the recipients in receipts. The ledger knows what happened since.
  for (const { delivery, target, recipient } of await archive.getReceipts(published)) {
    const state = states.get(delivery)?.state ?? '';
    if (KEPT.has(state)) found.set(delivery, { of: { target, recipient }, at: archivedAt, state });
  }
  for (const row of await ledger.list(run.id)) {
    const { id, target, recipient, at } = row;
    const archived = states.get(id);
    const state = archived !== undefined && isSupersededBy(row, archived) ? archived.state : row.state;
    if (KEPT.has(state)) found.set(id, { of: { target, recipient }, at, state });
    else found.delete(id);
  }
  const known = [...found.values()].filter(({ of }) => of.target !== NOTICE_TARGET);
  const received = known.filter(({ state }) => ARRIVED.has(state));
  const edition: Edition = {
    run,
    manifest: published.manifest,
    hash: published.manifest.edition_figures,
    recipients: received.map(({ of }) => of),
    withdrawn: known.flatMap(({ of, state }) => (ARRIVED.has(state) ? [] : [of])),
    deliveredAt: received.length === 0 ? null : Math.max(...received.map(({ at }) => at)),
  };
  const { packs, corrects } = published.manifest;
  if (packs === undefined) return edition;
  const own = packs.flatMap(({ value, label, slug, manifest }): EditionPack[] => {
    const of = known.filter(({ of: { target } }) => target.endsWith(`:${slug}`));
    if (manifest === undefined || of.length === 0) return [];
    const isForPack = ({ target }: EditionRecipient) => target.endsWith(`:${slug}`);
    const [recipients, withdrawn] = [edition.recipients.filter(isForPack), edition.withdrawn.filter(isForPack)];
    const at = Math.max(...of.map((one) => one.at));
    return [{ value, label, slug, run: run.id, manifest, recipients, withdrawn, at }];
  });
  const slugs = new Set(own.map(({ slug }) => slug));
  const earlier = corrects && (await loadEdition({ ...run, id: corrects.run }, deployment));
  const all = [...own, ...(earlier?.packs ?? []).filter(({ slug }) => !slugs.has(slug))];
  return {
    ...edition,
    recipients: all.flatMap(({ recipients }) => recipients),
    withdrawn: all.flatMap(({ withdrawn }) => withdrawn),
    packs: all,
  };
}

type StoredEdition = Pick<Edition, 'run' | 'hash'>;

/** The delivered figures of an edition; undefined if they were not stored. Throws `archive.corrupt`. */
export const findFigures = async (
  edition: StoredEdition,
  corrections: CorrectionArchive,
): Promise<EditionFigures | undefined> => (edition.hash === undefined ? undefined : loadFigures(edition, corrections));

/** The delivered figures of an edition. Throws `archive.corrupt`, also if they were not stored. */
export async function loadFigures(
  { run, hash }: StoredEdition,
  corrections: CorrectionArchive,
): Promise<EditionFigures> {
  const bytes = hash === undefined ? undefined : await corrections.getFigures(run, hash);
  if (bytes === undefined) {
    throw new DocketError('archive.corrupt', `The delivered figures of run ${run.id} are missing from the archive.`, {
      next: 'Restore the archive from a backup. Until then the run is not watched for corrections.',
    });
  }
  const figures = parseMetadata(`the archive of run ${run.id}`, 'its figures', bytes, editionFiguresSchema);
  if (figures.run === run.id && figures.org === run.org && figures.report === run.report) return figures;
  throw new DocketError('archive.corrupt', `The stored figures of run ${run.id} belong to another run.`);
}

const fileHashesSchema = z.record(z.string(), z.string()).optional();

const storedDefinitionSchema = editionFiguresSchema.pick({
  run: true,
  org: true,
  report: true,
  digest: true,
  definition: true,
  settings: true,
});

/** Definition and settings of a correction that a person opened. Throws as `frozenOfEdition`, `archive.corrupt`. */
export async function frozenOfCorrection(
  run: RunRef,
  { definition: hash }: OpenedEvent | NonNullable<Correction['byHand']>,
  deployment: Deployment,
): Promise<FrozenDefinition> {
  const bytes = await deployment.corrections.getFile(run, hash);
  return frozenOfEdition(
    parseMetadata(`the archive of run ${run.id}`, 'the definition of its correction', bytes, storedDefinitionSchema),
    deployment,
  );
}

/**
 * Definition and settings of an edition, from Redis. After Redis was lost, they come from the archive and are stored in
 * Redis again. Throws `definition.invalid`, `redis.unreachable`.
 */
export async function frozenOfEdition(
  figures: z.infer<typeof storedDefinitionSchema>,
  { definitions, orgs }: Deployment,
): Promise<FrozenDefinition> {
  const { org, report, digest } = figures;
  const known = await definitions.get(digest);
  if (known?.definition.org === org && known.definition.report === report) return known;
  const { org: _, report: __, digest: ___, files, ...file } = figures.definition;
  const { id: ____, ...orgFile } = figures.settings;
  const parsed = definitions.reportSchema.safeParse(file);
  const settings = storedOrgSchema.safeParse(orgFile);
  const named = fileHashesSchema.safeParse(files);
  if (!parsed.success || !settings.success || !named.success) {
    throw new DocketError('definition.invalid', 'The stored definition of a delivered edition cannot be read.', {
      where: `run ${figures.run}`,
      next: 'Run the same version of Docket on every machine.',
    });
  }
  const logo = orgs().get(org)?.logo;
  const frozen: FrozenDefinition = {
    definition: { ...parsed.data, org, report, digest, ...(named.data === undefined ? {} : { files: named.data }) },
    settings: { ...settings.data, ...(logo === undefined ? {} : { logo }), id: org },
  };
  await definitions.put(frozen);
  return frozen;
}
