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

/**
 * How many corrected editions of a report and period Docket sends without a person (`on_correction: send`), or of each
 * pack. Otherwise a service with changing responses would cause one every day.
 */
export const MAX_AUTOMATIC_EDITIONS = 2;

/**
 * The pack of a value as its recipients have it: from the replaced edition, or from an earlier one if that edition did
 * not correct this pack.
 */
export interface ReplacedPack {
  readonly run: string;
  /** When it was delivered, epoch ms. */
  readonly at: number;
  /** Number that the next edition of this pack gets. */
  readonly edition: number;
  readonly automatic: number;
  readonly recipients: Recipients;
  /** Recipients whose delivery was withdrawn. */
  readonly unmarked: Recipients;
}

/** An edition that a corrected one replaces. */
export interface ReplacedEdition {
  /** Undefined if no figures were stored: the report has no `corrections`. */
  readonly figures: EditionFigures | undefined;
  /** When it was delivered, epoch ms. */
  readonly at: number;
  /** Number of the edition that replaces it. The original is number 1. */
  readonly edition: number;
  /** How many of the corrected editions so far, including the new one, Docket sent without a person. */
  readonly automatic: number;
  readonly recipients: Recipients;
  /** In a report with `split`: the packs by value. */
  readonly packs?: ReadonlyMap<string, ReplacedPack> | undefined;
  /** Present if a person opened the correction. Absent if Docket found the changes. */
  readonly byHand?: Required<Pick<CorrectedEdition, 'reason' | 'unmarked'>> & {
    /** A comment on the whole report. */
    readonly comment?: TypedComment;
    /**
     * Number of the replaced edition's messages that are being sent. Until it is 0, nobody knows who gets which
     * edition.
     */
    readonly sending: number;
  };
}

/** A file from which an output is made. */
export interface OutputFileBytes {
  /** Relative to the folder of `org.yaml`, as the definition names it. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Stores the figures of editions in the archive. */
export interface EditionStore {
  /** Stores the figures of a run before it is published. @returns their SHA-256 (hex) */
  putFigures(run: RunOrder, text: string): Promise<string>;
  /** Stores a file from which an output of the run is made. @returns its SHA-256 (hex) */
  putFile(run: RunOrder, bytes: Uint8Array): Promise<string>;
  /** The files from which the replaced edition's outputs were made. Throws as `replacedBy`. */
  filesReplacedBy(run: RunOrder & { readonly corrects: string }): Promise<readonly OutputFileBytes[]>;
  /**
   * Finds the edition that this run replaces. If a person opened the correction, first closes that edition's open
   * deliveries. Throws `correction.not_found` if nobody decided on this replacement, `archive.*`, `redis.unreachable`.
   */
  replacedBy(run: RunOrder & { readonly corrects: string }): Promise<ReplacedEdition>;
  /** Closes the run's deliveries if a corrected edition replaces the run, even if the ledger was lost. */
  closeIfReplaced(run: RunOrder): Promise<void>;
}

interface EditionInput {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  /** The files from which the run's outputs were made. */
  readonly files: () => Promise<readonly OutputFileBytes[]>;
}

/**
 * The files of the edition that this run replaces: a corrected edition looks like the original. Empty for any other
 * run.
 */
export async function replacedFiles(
  order: RunOrder,
  editions: EditionStore | undefined,
): Promise<readonly OutputFileBytes[]> {
  const { corrects } = order;
  return corrects === undefined || editions === undefined ? [] : editions.filesReplacedBy({ ...order, corrects });
}

/** Sending a message takes seconds. */
const SENDING_SNOOZE_MS = 5 * SECOND_MS;

/**
 * Finds the edition that this run replaces. Snoozes while messages of that edition are being sent. Throws as
 * `EditionStore.replacedBy`.
 */
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

/** Marks a repeated copy. The pack of a value is one only if that pack was delivered before. */
export function markRepeated(dataset: Dataset, repeats: RunOrder['repeats'] = []): Dataset {
  const { desk } = dataset;
  const earlier = repeats.find(({ packs }) => desk === undefined || packs?.includes(desk.slug));
  return earlier === undefined ? dataset : { ...dataset, repeats: { run: earlier.run, at: isoInstant(earlier.at) } };
}

/**
 * Adds to a corrected edition's dataset what has changed and who receives it, and to a repeated copy which delivery it
 * repeats. Returns any other dataset unchanged. Snoozes as `findReplaced`.
 */
export async function withCorrection(
  dataset: Dataset,
  order: RunOrder,
  { definition: { sections, locale }, settings }: Pick<EditionInput, 'definition' | 'settings'>,
  ports: Parameters<typeof findReplaced>[1],
): Promise<Outcome<Dataset>> {
  const { corrects, repeats } = order;
  if (corrects === undefined) return done(markRepeated(dataset, repeats));
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
    // Without stored figures, nobody knows whether anything changed.
    ...(figures !== undefined && figures.sections.length > 0 && changes.length === 0 && { unchanged: true as const }),
  };
  const typed = byHand?.comment === undefined ? [] : [byHand.comment];
  return done(withComments({ ...dataset, correction }, typed, locale ?? settings.locale ?? DEFAULT_LOCALE));
}

/**
 * Stores the figures of an edition that will be watched, and returns their SHA-256 for its manifest. Returns undefined
 * without `corrections`, and for a run that delivers nothing.
 *
 * @param figuresOf called only if the figures are stored
 */
export async function storeEditionFigures(
  figuresOf: () => Pick<EditionFigures, 'sections' | 'boundaries' | 'packs'>,
  order: RunOrder,
  { definition, settings, files: readFiles }: EditionInput,
  editions: EditionStore | undefined,
): Promise<string | undefined> {
  const { corrections } = definition;
  if (corrections === undefined || !order.deliver || editions === undefined) return undefined;
  // Left out: the logo is a file beside org.yaml, and the current mail server always applies.
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
