import type { RunSnapshot } from '../../run/live-progress.ts';
import { type RunRecord, TERMINAL_STATES } from '../../run/run-record.ts';
import { deliveryLines } from './delivery-groups.ts';

/** `calls`: progress of the calls, which is a bar on a terminal. */
export interface ProgressLine {
  readonly of: 'calls' | 'run';
  readonly text: string;
}

/**
 * The changes between two snapshots of a run, as lines. Does not show changes that were reverted between two polls.
 *
 * @param before undefined for the first snapshot
 * @param now epoch ms
 */
export function snapshotLines(
  before: RunSnapshot | undefined,
  { record, live }: RunSnapshot,
  now: number,
): readonly ProgressLine[] {
  const previous = before?.record;
  const previousLive = before?.live ?? null;
  const report = `${record.org}/${record.report}`;
  const lines: ProgressLine[] = [];
  const add = (label: string, text: string, of: ProgressLine['of'] = 'run') =>
    void lines.push({ of, text: `${report}  ${label.padEnd(9)} ${text}` });

  const moved = previous?.state !== record.state || previous.starts !== record.starts;
  const ended = TERMINAL_STATES.has(record.state);
  if (moved && !ended) add(...stateLine(record, now));
  if (live !== null) {
    if (live.of > 0 && live.of !== previousLive?.of) add('plan', `${live.of} calls`);
    if (live.stage !== previousLive?.stage && (live.stage === 'render' || live.stage === 'deliver')) {
      add(live.stage, live.stage === 'render' ? 'creating the files' : 'delivering the files');
    }
    if (live.ahead !== null && live.ahead !== previousLive?.ahead) {
      add('wait', `no token free (${live.ahead} ahead)${finishSuffix(live.finish, now)}`, 'calls');
    } else if (live.done > 0 && live.done !== previousLive?.done) {
      const tokens = live.tokens === null ? '' : `, ${live.tokens} tokens left`;
      add('call', `${live.done}/${live.of}${tokens}${finishSuffix(live.finish, now)}`, 'calls');
    }
  }
  const known = new Map(previous?.deliveries.map((row) => [`${row.target} ${row.recipient}`, row.state]));
  const changed = record.deliveries.filter(
    ({ target, recipient, state }) => known.get(`${target} ${recipient}`) !== state,
  );
  for (const line of deliveryLines(changed)) add('deliver', line);
  if (record.cancel !== null && !previous?.cancel && !ended) {
    add('cancel', `requested by ${record.cancel.by}: ${record.cancel.reason}`);
  }
  if (moved && ended) add(...stateLine(record, now));
  return lines;
}

function stateLine({ state, attempts, until, error, calls }: RunRecord, now: number): [label: string, text: string] {
  switch (state) {
    case 'queued':
      return ['queue', 'waiting for a worker'];
    case 'running':
      return ['start', `attempt ${attempts}`];
    case 'waiting':
      return ['snooze', `${formatSecondsUntil(until ?? now, now)}: ${error?.message ?? 'waiting for the rate limit'}`];
    default:
      return [
        'finished',
        error === null
          ? `${state}, ${calls.made} calls made, ${calls.saved} cached`
          : `${state}: ${error.message} [${error.code}]`,
      ];
  }
}

/** @param at epoch ms */
export const formatSecondsUntil = (at: number, now: number): string => `${Math.max(0, Math.ceil((at - now) / 1000))} s`;
const finishSuffix = (finish: number | null, now: number): string =>
  finish === null ? '' : `, finish in ${formatSecondsUntil(finish, now)}`;
