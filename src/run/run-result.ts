import { DocketError, type ErrorJson } from '../base/error.ts';
import { isHeldPack } from '../definitions/split.ts';
import type { PublishedRun } from '../deliver/archive/archive.ts';
import type { Manifest, ReadingRecord } from '../deliver/archive/manifest.ts';
import { isReportFile } from '../deliver/archive/run-folder/pack-files.ts';
import { isDenied } from '../deliver/denials/deny-list.ts';
import { isClosed, type Receipt } from '../deliver/ledger/ledger.ts';
import type { CallRecord, Judgement, TargetRecord } from '../fetch/dataset.ts';
import type { Note } from '../fetch/notes.ts';
import type { Artifact } from '../render/artifact.ts';
import { countStatuses } from '../render/figures/current-statuses.ts';
import type { ReviewProgress, StatusCounts } from './run-record.ts';

/** Makes the result of a finished run. */
export const toRunResult = (
  state: RunResult['state'],
  published: PublishedRun,
  receipts: readonly Receipt[],
): RunResult => ({
  state,
  folder: published.folder,
  files: published.artifacts.filter(isReportFile),
  ...selectContent(published.manifest),
  receipts,
});

/**
 * Makes the result of a run that waits for people: nothing is published or sent. @param manifest of the files that they
 * look at
 */
export const toWaitingResult = (
  state: 'held' | 'awaiting_approval',
  manifest: Manifest,
  review: ReviewProgress,
  error: DocketError | undefined,
): RunResult => ({
  state,
  folder: '',
  files: [],
  ...selectContent(manifest),
  receipts: [],
  review,
  ...(error === undefined ? {} : { error: error.toJSON() }),
});

const selectContent = (manifest: Manifest) => ({
  calls: manifest.calls,
  readings: manifest.readings,
  incomplete: manifest.incomplete,
  targets: manifest.targets,
  judgements: manifest.judgements,
  ...statusCounts(manifest.judgements),
  headlines: manifest.headlines,
  ranges: manifest.ranges,
});

function statusCounts(judgements: readonly Judgement[] = []): Pick<RunResult, 'statuses' | 'fewStatuses'> {
  if (judgements.length === 0) return {};
  const few = countStatuses(judgements, true);
  return { statuses: countStatuses(judgements), ...(Object.keys(few).length === 0 ? {} : { fewStatuses: few }) };
}

/** The error for incomplete figures, which stop the run or its delivery. Undefined if the figures are complete. */
export function incompleteError(
  code: 'run.incomplete' | 'run.held',
  notes: readonly (Note & { readonly section: string })[],
): DocketError | undefined {
  if (notes.length === 0) return undefined;
  const policy = code === 'run.held' ? 'hold' : 'fail';
  return new DocketError(
    code,
    `Figures are incomplete: ${notes.map(({ section, text }) => `${section}: ${text}`).join('; ')}`,
    {
      expected: `complete figures in every section (on_incomplete: ${policy})`,
      got: `${notes.length} incomplete ${notes.length === 1 ? 'note' : 'notes'}`,
      next:
        code === 'run.held'
          ? 'Check the files in the archive; nothing was sent. `docket runs release` sends them as they are, marked as incomplete.'
          : 'Narrow the section (filters, dimensions, a shorter period), or set on_incomplete: flag to deliver marked figures.',
    },
  );
}

/**
 * The error in the owner's notice when some judged figures of a delivered run cannot be right; undefined if all can.
 */
export function wrongFiguresError({
  judgements = [],
  incomplete,
}: Pick<Manifest, 'judgements' | 'incomplete'>): DocketError | undefined {
  const wrong = judgements.filter((judgement) => judgement.wrong === true);
  if (wrong.length === 0) return undefined;
  const sections = new Set(wrong.map(({ section }) => section));
  const notes = incomplete.filter(({ section }) => sections.has(section));
  return new DocketError(
    'run.incomplete',
    `A figure cannot be right: ${notes.map(({ section, text }) => `${section}: ${text}`).join('; ')}`,
    {
      expected: 'figures that the answers of the service do not contradict',
      got: wrong.map(({ metric, figure }) => `${metric} ${figure}`).join(', '),
      next: 'Report it to the service with the correlation ids of the run. The figures are marked and have no status; run the report again once the service is right.',
    },
  );
}

/** The error in the owner's notice when all recipients of a run are denied; undefined for other runs. */
export function allDeniedError(
  deliveries: readonly { readonly state: string; readonly detail: string | null }[],
): DocketError | undefined {
  if (!deliveries.every(({ state }) => state === 'skipped') || !deliveries.some(isDenied)) return undefined;
  return new DocketError(
    'deliver.recipient_denied',
    'Nobody received the report: its recipients are on the deny list.',
    {
      expected: 'a recipient who is not on the deny list',
      got: `${deliveries.filter(isDenied).length} on the deny list`,
      next: 'Name other recipients in the definition, then run the period again. `docket deny` shows the list.',
    },
  );
}

/**
 * One error for all failed deliveries; undefined if none failed.
 * @param willRetry whether another attempt follows automatically: until the run has ended, a person cannot retry it
 */
export function undeliveredError(
  receipts: readonly Receipt[],
  run: string,
  willRetry = false,
): DocketError | undefined {
  const missing = receipts.filter(({ state }) => state !== 'sent' && !isClosed(state));
  if (missing.length === 0) return undefined;
  const states = new Set(missing.map(({ state }) => state));
  const code =
    states.has('unknown') || states.has('sending')
      ? 'deliver.unknown'
      : states.has('pending')
        ? 'deliver.target_failed'
        : 'deliver.target_refused';
  const each = missing.map(
    ({ recipient, target, state, detail }) =>
      `${recipient} (${target}): ${state}${detail === null ? '' : `, ${detail}`}`,
  );
  return new DocketError(code, `Some deliveries failed: ${each.join('; ')}`, {
    expected: `${receipts.length} ${receipts.length === 1 ? 'delivery' : 'deliveries'} sent`,
    got: `${receipts.filter(({ state }) => state === 'sent').length} sent`,
    next: [
      ...(missing.every(isHeldPack) ? [] : [willRetry ? RETRIED : nextStep(states.has('unknown'), run)]),
      ...(missing.some(isHeldPack) ? [HELD_PACKS] : []),
    ].join(' '),
    // `sending`: another worker holds the row. The next attempt will know the result.
    retryable: states.has('pending') || states.has('sending'),
  });
}

const HELD_PACKS =
  'Only a new run can send a held pack: add its recipients under `split.to` of the definition, or correct the value, then run the report for this period with `--value`.';

const RETRIED = 'Docket retries these deliveries by itself. If the error lasts, fix what the target reports.';

const nextStep = (unknown: boolean, run: string): string =>
  unknown
    ? `Check with the recipients of \`unknown\` deliveries; Docket does not resend them automatically. Then run \`docket deliveries resolve --run ${run} --sent --reason …\`, or \`docket deliveries resolve ID --resend --reason …\` for each that has not arrived.`
    : `Fix the error that the target reports, then run \`docket runs retry ${run} --reason …\`: it sends failed deliveries only.`;

export interface RunResult {
  /**
   * `held`: not sent, because figures are incomplete or comments are missing. `awaiting_approval`: not sent yet.
   * `partly_delivered`: some deliveries failed or are uncertain.
   */
  readonly state: 'done' | 'partly_delivered' | 'held' | 'awaiting_approval';
  /** Why the run is held. Absent if its notes say so. */
  readonly error?: ErrorJson;
  /** The review that the run waits for. Absent without one. */
  readonly review?: ReviewProgress;
  /** Absolute path of the run's archive folder. Empty for a run that is not published. */
  readonly folder: string;
  readonly files: readonly Artifact[];
  readonly calls: readonly CallRecord[];
  /** The same as in the manifest. Absent if no figures are readings. */
  readonly readings?: readonly ReadingRecord[] | undefined;
  readonly incomplete: readonly (Note & { readonly section: string })[];
  /** The same as in the manifest. Absent without targets. */
  readonly targets?: readonly TargetRecord[] | undefined;
  readonly judgements?: readonly Judgement[] | undefined;
  readonly headlines?: readonly string[] | undefined;
  readonly ranges?: Manifest['ranges'];
  /** The same as in the run's record. */
  readonly statuses?: StatusCounts;
  readonly fewStatuses?: StatusCounts;
  readonly receipts: readonly Receipt[];
}
