import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import { done, type Outcome, snooze } from '../../base/outcome.ts';
import { isoInstant, SECOND_MS } from '../../base/time.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import type { CorrectedEdition, Dataset } from '../../fetch/dataset.ts';
import { DEFAULT_LOCALE } from '../../i18n/messages.ts';
import { type TypedComment, withComments } from '../../render/figures/comments/printed-comments.ts';
import type { RunOrder } from '../run-record.ts';
import { compareEditions } from './compare-editions.ts';
import { type EditionFigures, editionSections } from './edition-figures.ts';

type Recipients = NonNullable<CorrectedEdition['recipients']>;

/** The pack of a value as its recipients have it: of the edition that is replaced, or of an earlier one that it did not correct. */
export interface ReplacedPack {
  readonly run: string;
  /** When it was delivered, epoch ms. */
  readonly at: number;
  /** Which edition of this pack the next one is. */
  readonly edition: number;
  readonly automatic: number;
  readonly recipients: Recipients;
  /** Whose delivery was withdrawn. */
  readonly unmarked: Recipients;
}

/** An edition that a corrected one replaces. */
export interface ReplacedEdition {
  /** Undefined where they are not kept: of a report without `corrections`. */
  readonly figures: EditionFigures | undefined;
  /** When it was delivered, epoch ms. */
  readonly at: number;
  /** Which edition the run that replaces it is, counted from 1, the first one. */
  readonly edition: number;
  /** How many of the corrected editions up to that run Docket sent by itself. */
  readonly automatic: number;
  readonly recipients: Recipients;
  /** Of a report with `split`, by value. */
  readonly packs?: ReadonlyMap<string, ReplacedPack> | undefined;
  /** Absent where Docket found the changes. */
  readonly byHand?: Required<Pick<CorrectedEdition, 'reason' | 'unmarked'>> & {
    /** On the whole report. */
    readonly comment?: TypedComment;
    /** Messages of the replaced edition that are being sent: until their results are known it is not known who gets what. */
    readonly sending: number;
  };
}

/** A file that an output is made from. */
export interface OutputFileBytes {
  /** From the folder of `org.yaml`, as the definition names it. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The figures of editions, in the archive. */
export interface EditionStore {
  /** Stores the figures of a run before it is published. @returns their SHA-256 (hex) */
  putFigures(run: RunOrder, text: string): Promise<string>;
  /** Stores a file that an output of a run is made from. @returns its SHA-256 (hex) */
  putFile(run: RunOrder, bytes: Uint8Array): Promise<string>;
  /** The files that the outputs of an edition were made from. Throws as `replacedBy`. */
  filesReplacedBy(run: RunOrder & { readonly corrects: string }): Promise<readonly OutputFileBytes[]>;
  /**
   * Finds the edition that this run replaces. If a person opened the correction, it first closes the open deliveries of that
   * edition. Throws `correction.not_found` where nobody decided that this run replaces it, `archive.*`, `redis.unreachable`.
   */
  replacedBy(run: RunOrder & { readonly corrects: string }): Promise<ReplacedEdition>;
  /** Closes the deliveries of this run where a corrected edition replaces it, also after the ledger was lost. */
  closeIfReplaced(run: RunOrder): Promise<void>;
}

interface EditionInput {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  /** What the outputs of the run were made from. */
  readonly files: () => Promise<readonly OutputFileBytes[]>;
}

/** The files of the edition that this run replaces: a corrected edition looks like the first one. Empty for any other run. */
export async function replacedFiles(
  order: RunOrder,
  editions: EditionStore | undefined,
): Promise<readonly OutputFileBytes[]> {
  const { corrects } = order;
  return corrects === undefined || editions === undefined ? [] : editions.filesReplacedBy({ ...order, corrects });
}

/** A message that is being sent takes seconds. */
const SENDING_SNOOZE_MS = 5 * SECOND_MS;

/** The edition that this run replaces. Snoozes while messages of it are being sent. Throws as `EditionStore.replacedBy`. */
export async function findReplaced(
  order: RunOrder & { readonly corrects: string },
  { editions, clock }: { readonly editions?: EditionStore | undefined; readonly clock: Clock },
): Promise<Outcome<ReplacedEdition>> {
  if (editions === undefined) throw new DocketError('internal.defect', 'This process cannot correct editions.');
  const replaced = await editions.replacedBy(order);
  const { sending = 0 } = replaced.byHand ?? {};
  if (sending === 0) return done(replaced);
  const messages = sending === 1 ? '1 message' : `${sending} messages`;
  return snooze(clock.now() + SENDING_SNOOZE_MS, `${messages} of the replaced edition being sent`);
}

/**
 * The dataset of a corrected edition, with what it changes and who gets it; that of any other run as it is, marked where it
 * repeats a delivery. Snoozes as
 * `findReplaced`.
 */
export async function withCorrection(
  dataset: Dataset,
  order: RunOrder,
  { definition: { sections, locale }, settings }: Pick<EditionInput, 'definition' | 'settings'>,
  ports: Parameters<typeof findReplaced>[1],
): Promise<Outcome<Dataset>> {
  const { corrects, repeats } = order;
  if (corrects === undefined) {
    return done(repeats ? { ...dataset, repeats: { run: repeats.run, at: isoInstant(repeats.at) } } : dataset);
  }
  const replaced = await findReplaced({ ...order, corrects }, ports);
  if (replaced.kind !== 'done') return replaced;
  const { figures, at, recipients, edition, automatic, byHand } = replaced.value;
  const changes = figures === undefined ? [] : compareEditions(figures, editionSections(dataset, sections)).changes;
  const correction = {
    replaces: { run: corrects, at: new Date(at).toISOString() },
    edition,
    automatic,
    changes,
    recipients,
    ...(byHand && { reason: byHand.reason, unmarked: byHand.unmarked }),
    // Where nothing was kept, nobody knows.
    ...(figures !== undefined && figures.sections.length > 0 && changes.length === 0 && { unchanged: true as const }),
  };
  const typed = byHand?.comment === undefined ? [] : [byHand.comment];
  return done(withComments({ ...dataset, correction }, typed, locale ?? settings.locale ?? DEFAULT_LOCALE));
}

/**
 * Stores the figures of an edition that will be watched, and returns their SHA-256 for its manifest. Undefined without
 * `corrections`, and for a run that delivers nothing.
 *
 * @param figuresOf called where they are stored
 */
export async function storeEditionFigures(
  figuresOf: () => Pick<EditionFigures, 'sections' | 'boundaries' | 'packs'>,
  order: RunOrder,
  { definition, settings, files: readFiles }: EditionInput,
  editions: EditionStore | undefined,
): Promise<string | undefined> {
  const { corrections } = definition;
  if (corrections === undefined || !order.deliver || editions === undefined) return undefined;
  // The logo is a file beside org.yaml, and the mail server is always the current one.
  const { logo: _, smtp: __, ...kept } = settings;
  const files: Record<string, string> = {};
  for (const { name, bytes } of await readFiles()) files[name] = await editions.putFile(order, bytes);
  const figures: EditionFigures = {
    version: 1,
    run: order.id,
    org: order.org,
    report: order.report,
    digest: order.digest,
    period: order.period,
    ...(order.sectionPeriods === undefined ? {} : { section_periods: order.sectionPeriods }),
    corrections,
    definition: { ...definition },
    ...(Object.keys(files).length === 0 ? {} : { files }),
    settings: { ...kept },
    ...figuresOf(),
  };
  return editions.putFigures(order, `${JSON.stringify(figures)}\n`);
}
