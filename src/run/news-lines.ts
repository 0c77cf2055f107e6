import type { RunNews } from './live.ts';
import { ENDED, type RunRecord } from './record.ts';

/** A line of somebody who watches a run. `calls`: of the calls under way, which a bar would show better. */
export interface NewsLine {
  readonly of: 'calls' | 'run';
  readonly text: string;
}

/**
 * What is new of a run in the words of `progress`. It is looked at once a second: what came and went in between is not told.
 *
 * @param before undefined: nothing was shown yet
 * @param now epoch ms
 */
export function newsLines(before: RunNews | undefined, { record, live }: RunNews, now: number): readonly NewsLine[] {
  const was = before?.record;
  const told = before?.live ?? null;
  const report = `${record.org}/${record.report}`;
  const lines: NewsLine[] = [];
  const say = (what: string, text: string, of: NewsLine['of'] = 'run') =>
    void lines.push({ of, text: `${report}  ${what.padEnd(9)} ${text}` });

  const moved = was?.state !== record.state || was.starts !== record.starts;
  const ended = ENDED.has(record.state);
  if (moved && !ended) say(...stateOf(record, now));
  if (live !== null) {
    if (live.of > 0 && live.of !== told?.of) say('plan', `${live.of} calls`);
    if (live.stage !== told?.stage && (live.stage === 'render' || live.stage === 'deliver')) {
      say(live.stage, live.stage === 'render' ? 'the files are being made' : 'the files are on their way');
    }
    if (live.ahead !== null && live.ahead !== told?.ahead) {
      say('wait', `no token free (${live.ahead} ahead)${untilOf(live.finish, now)}`, 'calls');
    } else if (live.done > 0 && live.done !== told?.done) {
      const tokens = live.tokens === null ? '' : `, ${live.tokens} tokens left`;
      say('call', `${live.done}/${live.of}${tokens}${untilOf(live.finish, now)}`, 'calls');
    }
  }
  const known = new Map(was?.deliveries.map((row) => [`${row.target} ${row.recipient}`, row.state]));
  for (const { target, recipient, state, detail } of record.deliveries) {
    if (known.get(`${target} ${recipient}`) === state) continue;
    say('deliver', `${target} → ${recipient}: ${state}${detail === null ? '' : ` (${detail})`}`);
  }
  if (record.cancel !== null && !was?.cancel && !ended) {
    say('cancel', `told to stop by ${record.cancel.by}: ${record.cancel.reason}`);
  }
  if (moved && ended) say(...stateOf(record, now));
  return lines;
}

function stateOf({ state, attempts, until, error, calls }: RunRecord, now: number): [what: string, text: string] {
  switch (state) {
    case 'queued':
      return ['queue', 'waits for a worker'];
    case 'running':
      return ['start', `try ${attempts}`];
    case 'waiting':
      return ['snooze', `${inSeconds(until ?? now, now)}: ${error?.message ?? 'waits for tokens of its key'}`];
    default:
      return [
        'finished',
        error === null
          ? `${state}, ${calls.made} calls made, ${calls.saved} answers kept`
          : `${state}: ${error.message} [${error.code}]`,
      ];
  }
}

const inSeconds = (at: number, now: number): string => `${Math.max(0, Math.ceil((at - now) / 1000))} s`;
const untilOf = (finish: number | null, now: number): string =>
  finish === null ? '' : `, finish in ${inSeconds(finish, now)}`;
