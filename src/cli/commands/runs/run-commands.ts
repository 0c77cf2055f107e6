import { formatPeriodArgument } from '../../../definitions/periods/period.ts';
import { isSplitTarget } from '../../../definitions/schema/kinds.ts';
import type { RunRecord } from '../../../run/run-record.ts';
import { heldPacks, isReportDelivery, retryScope } from '../../../services/deliveries/decision-rules.ts';
import type { ReviewView } from '../../../services/reviews/review-service.ts';
import { type NextCommand, quoteWord } from '../../terminal/next-commands.ts';
import { idCells } from '../../terminal/table/cell.ts';
import { resolveCommands } from '../delivery-commands.ts';
import type { LoadedRun } from './load-run.ts';

const REASON = '--reason "…"';

/** Commands for what a person can do about a run. Empty if nothing needs to be done. */
export function runCommands({
  id,
  record,
  rows,
  timeline,
  review,
  archived,
  archiveError,
}: LoadedRun): readonly NextCommand[] {
  if (record === undefined) return [];
  const run = id.slice(0, 8);
  const deliveries = rows.filter(isReportDelivery);
  const shortId = idCells(rows.map((row) => row.id));
  switch (record.state) {
    case 'queued':
    case 'running':
    case 'waiting':
      return [
        ...waitCommands(record, timeline?.waits?.for),
        { command: `docket runs watch ${run}`, why: 'follows it to its end' },
      ];
    case 'held':
      if (review !== undefined) return reviewCommands(record, review);
      // A run without its files cannot be released.
      if (archived === undefined && archiveError === undefined) return [{ command: again(record), why: 'a new run' }];
      return [
        { command: `docket runs get ${run}`, why: 'copies the files, to look at first' },
        { command: `docket runs release ${run} ${REASON}`, why: 'sends them as they are' },
        { command: again(record), why: 'or fetches the figures again, in a new run' },
      ];
    case 'awaiting_approval':
      return review === undefined ? [] : reviewCommands(record, review);
    case 'skipped':
      return [{ command: again(record), why: 'runs the report for this period now' }];
    case 'done':
    case 'partly_delivered':
    case 'cancelled':
    case 'failed':
      return [
        ...resolveCommands(deliveries, (delivery) => shortId(delivery).brief),
        ...correctCommands(deliveries),
        ...retryCommands(record, retryScope(record, rows), archived !== undefined),
        ...(heldPacks(record).length === 0
          ? []
          : [{ command: again(record), why: 'after a correction of `split`: sends the held packs in a new run' }]),
        ...(isCorrectable(deliveries)
          ? [{ command: `docket corrections open ${run} ${REASON}`, why: 'if it was wrong: sends a corrected edition' }]
          : []),
      ];
  }
}

/** The command that corrects a refused address. */
function correctCommands(deliveries: LoadedRun['rows']): readonly NextCommand[] {
  const refused = deliveries.filter(({ state, target }) => state === 'refused' && /^\d+-email/.test(target));
  const [first] = refused;
  if (first === undefined || refused.length > 1) return [];
  const { run, recipient } = first;
  const command = `docket deliveries send ${run.slice(0, 8)} --replaces ${quoteWord(recipient)} --to "…" ${REASON}`;
  return [{ command, why: 'if the address is wrong: sends the files to the right one' }];
}

/** Whether somebody has received the run. Reports with `split` cannot have corrected editions. */
const isCorrectable = (deliveries: LoadedRun['rows']): boolean =>
  deliveries.some(({ state }) => state === 'sent' || state === 'unknown') &&
  !deliveries.some(({ target }) => isSplitTarget(target));

/** Commands for what people can do about a run that waits for them. */
function reviewCommands(record: RunRecord, { state }: ReviewView): readonly NextCommand[] {
  const run = record.id.slice(0, 8);
  const content = state.content === null ? '' : ` --content ${state.content.slice(0, CONTENT_DIGITS)}`;
  const [missing] = state.missingComments;
  const look = { command: `docket runs get ${run} --review`, why: 'copies the files, to look at first' };
  const cancel = { command: `docket runs cancel ${run} ${REASON}`, why: 'or ends it: nothing is sent' };
  switch (state.phase) {
    case 'comments':
      return [
        {
          command: `docket comment ${run} --section ${missing ?? ''} --file note.md`,
          why: 'writes the missing comment',
        },
        look,
        cancel,
      ];
    case 'incomplete':
    case 'approval':
      return [
        look,
        ...(state.need === 0
          ? []
          : [
              { command: `docket runs approve ${run}${content} ${REASON}`, why: 'approves exactly this content' },
              { command: `docket runs reject ${run}${content} ${REASON}`, why: 'rejects it' },
              {
                command: `docket runs delegate ${run} --to "…" ${REASON}`,
                why: 'names a deputy for you, or for another approver with --from',
              },
            ]),
        ...(state.phase === 'approval'
          ? []
          : [
              { command: `docket runs release ${run} ${REASON}`, why: 'accepts the missing figures; approves nothing' },
            ]),
        cancel,
      ];
    default:
      return [{ command: `docket runs watch ${run}`, why: 'follows it to its end' }];
  }
}

/** Digits of a hash, as they are printed. */
const CONTENT_DIGITS = 12;

function retryCommands(
  record: RunRecord,
  scope: ReturnType<typeof retryScope>,
  hasFiles: boolean,
): readonly NextCommand[] {
  const command = `docket runs retry ${record.id.slice(0, 8)} ${REASON}`;
  if (scope === 'nothing' || scope === 'wait') return [];
  if (scope === 'deliveries') {
    return [{ command, why: 'repeats the failed deliveries with the same files; remove the cause first' }];
  }
  if (record.state === 'cancelled' || hasFiles) return [{ command, why: 'continues it' }];
  return [
    { command, why: 'runs it again, with the same definition; remove the cause first' },
    { command: again(record), why: 'or, after a correction of the definition, starts a new run' },
  ];
}

function waitCommands({ org, report, id }: RunRecord, waitsFor: string | undefined): readonly NextCommand[] {
  switch (waitsFor) {
    case 'no_worker':
      return [{ command: 'docket start --role worker', why: 'starts a worker: none is running' }];
    case 'pause':
      return [{ command: `docket resume ${org}/${report} ${REASON}`, why: 'ends the pause' }];
    case 'tokens':
      return [{ command: 'docket budget', why: 'shows who uses the tokens of the key' }];
    case 'retry':
    case 'other':
      return [
        {
          command: `docket runs retry ${id.slice(0, 8)} ${REASON}`,
          why: 'begins the next attempt now; remove the cause first',
        },
        { command: `docket runs cancel ${id.slice(0, 8)} ${REASON}`, why: 'stops it before the next attempt' },
      ];
    default:
      return [];
  }
}

const again = (record: RunRecord): string => `${runAgainCommand(record)} --queue`;

/** The command for a new run of the same report and period. */
export const runAgainCommand = ({ org, report, period }: Pick<RunRecord, 'org' | 'report' | 'period'>): string =>
  `docket run ${org}/${report} --period ${formatPeriodArgument(period)}`;
