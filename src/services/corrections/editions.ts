import { z } from 'zod';
import { DocketError } from '../../base/error.ts';
import { storedOrgSchema } from '../../definitions/schema/org-settings.ts';
import type { CorrectionArchive } from '../../deliver/archive/corrections/correction-archive.ts';
import type { CorrectionEvent } from '../../deliver/archive/corrections/correction-event.ts';
import type { Manifest } from '../../deliver/archive/manifest.ts';
import { parseMetadata } from '../../deliver/archive/run-folder/run-metadata.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import { isSupersededBy, NOTICE_TARGET } from '../../deliver/ledger/ledger.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import type { EditionStore, OutputFileBytes, ReplacedEdition } from '../../run/corrections/corrected-edition.ts';
import { type EditionFigures, editionFiguresSchema } from '../../run/corrections/edition-figures.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { DOCKET } from './correction.ts';

/** One who has received an edition, or may have. */
export interface EditionRecipient {
  /** Position and kind in the definition, e.g. `0-email`. */
  readonly target: string;
  readonly recipient: string;
}

/** A published run whose figures are stored. */
export interface Edition {
  readonly run: RunRef;
  readonly manifest: Manifest;
  /** SHA-256 (hex) of its figures. */
  readonly hash: string;
  readonly recipients: readonly EditionRecipient[];
  /** When it was delivered last, epoch ms; null while nobody has received it. */
  readonly deliveredAt: number | null;
}

const ARRIVED: ReadonlySet<string> = new Set(['sent', 'unknown', 'sending']);

/** The edition of a run; undefined where it is not published, or its figures were not stored. Throws `archive.*`, `redis.unreachable`. */
export async function loadEdition(run: RunRef, { archive, ledger }: Deployment): Promise<Edition | undefined> {
  const published = await archive.peek(run);
  const hash = published?.manifest.edition_figures;
  if (published === undefined || hash === undefined) return undefined;
  const states = await archive.getArchivedStates(published);
  const found = new Map<string, { readonly of: EditionRecipient; readonly at: number }>();
  const { made_at: madeAt, review } = published.manifest;
  // Receipts have no time. What waits for approval is made days before it is sent.
  const archivedAt = Math.max(
    ...[madeAt, ...(review?.approved_by ?? []).map(({ at }) => at)].map((at) => Date.parse(at)),
  );
  // The archive names recipients in the receipts; the ledger knows of what happened since.
  for (const { delivery, target, recipient } of await archive.getReceipts(published)) {
    if (!ARRIVED.has(states.get(delivery)?.state ?? '')) continue;
    found.set(delivery, { of: { target, recipient }, at: archivedAt });
  }
  for (const row of await ledger.list(run.id)) {
    const { id, target, recipient, at } = row;
    const archived = states.get(id);
    const state = archived !== undefined && isSupersededBy(row, archived) ? archived.state : row.state;
    if (ARRIVED.has(state)) found.set(id, { of: { target, recipient }, at });
    else found.delete(id);
  }
  const received = [...found.values()].filter(({ of }) => of.target !== NOTICE_TARGET);
  return {
    run,
    manifest: published.manifest,
    hash,
    recipients: received.map(({ of }) => of),
    deliveredAt: received.length === 0 ? null : Math.max(...received.map(({ at }) => at)),
  };
}

/** The figures of an edition as they were delivered. Throws `archive.corrupt`. */
export async function loadFigures(
  { run, hash }: Pick<Edition, 'run' | 'hash'>,
  corrections: CorrectionArchive,
): Promise<EditionFigures> {
  const bytes = await corrections.getFigures(run, hash);
  if (bytes === undefined) {
    throw new DocketError('archive.corrupt', `The delivered figures of run ${run.id} are missing from the archive.`, {
      next: 'Restore the archive from a backup. Until then the run is not watched for corrections.',
    });
  }
  const figures = parseMetadata(`the archive of run ${run.id}`, 'its figures', bytes, editionFiguresSchema);
  if (figures.run === run.id && figures.org === run.org && figures.report === run.report) return figures;
  throw new DocketError('archive.corrupt', `The stored figures of run ${run.id} belong to another run.`);
}

type Numbers = Pick<ReplacedEdition, 'edition' | 'automatic'>;

/** The decision that the run sends a corrected edition. */
const decisionFor = (run: string, events: readonly CorrectionEvent[]) =>
  events.flatMap((event) => (event.type === 'sent' && event.run === run ? event : []))[0];

/** Of the edition that is sent by this decision. */
const nextNumbers = ({ edition, automatic }: Numbers, decision: { readonly by: string } | undefined): Numbers => ({
  edition: edition + 1,
  automatic: automatic + (decision?.by === DOCKET ? 1 : 0),
});

/** Which edition a run is. Older manifests do not say it: it is counted along `corrects` to the first edition. */
async function numbersOf(run: RunRef, { corrects }: Pick<Manifest, 'corrects'>, ports: Deployment): Promise<Numbers> {
  if (corrects === undefined) return { edition: 1, automatic: 0 };
  const { edition, automatic } = corrects;
  if (edition !== undefined && automatic !== undefined) return { edition, automatic };
  const before: RunRef = { ...run, id: corrects.run };
  const published = await ports.archive.peek(before);
  const numbers = await numbersOf(before, published?.manifest ?? {}, ports);
  return nextNumbers(numbers, decisionFor(run.id, await ports.corrections.events(before)));
}

/** Stores figures for the runs of a worker, and finds the edition that a run replaces. */
export function createEditionStore(ports: Deployment): EditionStore {
  const { corrections } = ports;
  const requireReplaced = async ({ id, org, report, corrects }: RunRef & { readonly corrects: string }) => {
    const run: RunRef = { id: corrects, org, report };
    const events = await corrections.events(run);
    const decision = decisionFor(id, events);
    const edition = decision ? await loadEdition(run, ports) : undefined;
    if (edition === undefined || edition.deliveredAt === null) {
      throw new DocketError('correction.not_found', `Nobody decided that this run replaces the edition ${corrects}.`, {
        where: `${org}/${report}`,
        next: '`docket corrections` lists what can be corrected.',
      });
    }
    const figures = await loadFigures(edition, corrections);
    const { deliveredAt: at, recipients, manifest } = edition;
    return { run, figures, at, recipients, ...nextNumbers(await numbersOf(run, manifest, ports), decision) };
  };
  return {
    putFigures: ({ id, org, report }, text) => corrections.putFigures({ id, org, report }, text),
    putFile: ({ id, org, report }, bytes) => corrections.putFile({ id, org, report }, bytes),
    replacedBy: async (order) => {
      const { run: _, ...replaced } = await requireReplaced(order);
      return replaced;
    },
    filesReplacedBy: async (order) => {
      const { run, figures } = await requireReplaced(order);
      const files: OutputFileBytes[] = [];
      for (const [name, hash] of Object.entries(figures.files ?? {}))
        files.push({ name, bytes: await corrections.getFile(run, hash) });
      return files;
    },
  };
}

const fileHashesSchema = z.record(z.string(), z.string()).optional();

/**
 * The definition and the settings of an edition: those of Redis, or after Redis was lost those of the archive, which are
 * then stored again. Throws `definition.invalid`, `redis.unreachable`.
 */
export async function frozenOfEdition(
  figures: EditionFigures,
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
