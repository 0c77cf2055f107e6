import { intlNumberFormat } from '../../../base/text/intl.ts';
import type { Pause } from '../../../queue/schedules/pauses.ts';
import type { LiveProgress } from '../../../run/live-progress.ts';
import { isInlineRun, type RunRecord } from '../../../run/run-record.ts';

/**
 * `worker`: it is queued. `no_worker`: no worker process is running. `command`: the command that opened it executes it.
 * `pause`: its schedule is paused. `tokens`: it waits for its API key's rate limit. `retry`: its last attempt failed.
 * `other`: see `text`.
 */
export const WAIT_KINDS = ['worker', 'no_worker', 'command', 'pause', 'tokens', 'retry', 'other'] as const;
export type WaitKind = (typeof WAIT_KINDS)[number];

/** What a run waits for. */
export interface WaitReason {
  readonly for: WaitKind;
  /** A phrase without a full stop, e.g. `Waiting for a worker`. */
  readonly text: string;
  /** The error, or who paused it and why; null if `text` says everything. */
  readonly detail: string | null;
  /** When the next attempt begins, epoch ms; null if that depends on somebody or something else. */
  readonly until: number | null;
}

export interface WaitReasonInput {
  readonly record: RunRecord;
  /** Null unless a worker runs it. */
  readonly live: LiveProgress | null;
  /** The pause of the run's report or organization. */
  readonly pause: Pause | undefined;
  /** Number of worker processes; null if unknown. */
  readonly workers: number | null;
}

/** Why an unfinished run waits. Null while it works, and after it has ended. */
export function waitReason({ record, live, pause, workers }: WaitReasonInput): WaitReason | null {
  const { state, until, error } = record;
  const startOne = 'No worker process is running. Start one with `docket start --role worker`.';
  if (state === 'running' && live === null && workers === 0 && !isInlineRun(record)) {
    return { for: 'no_worker', text: 'Interrupted: its worker has stopped', detail: startOne, until: null };
  }
  if (state === 'running') return live === null || live.ahead === null ? null : tokensReason(live.ahead, live.finish);
  if (state !== 'queued' && state !== 'waiting') return null;
  if (isInlineRun(record)) {
    return { for: 'command', text: 'Executed by the command that opened it', detail: null, until };
  }
  if (workers === 0) {
    return { for: 'no_worker', text: 'Waiting for a worker', detail: startOne, until: null };
  }
  if (pause !== undefined && record.trigger === 'schedule' && pause.run !== record.id) {
    const scope = pause.report === null ? pause.org : `${pause.org}/${pause.report}`;
    return {
      for: 'pause',
      text: `The schedule of ${scope} is paused`,
      detail: `${pause.who}: ${pause.why}`,
      until: null,
    };
  }
  if (state === 'queued') return { for: 'worker', text: 'Waiting for a free worker', detail: null, until: null };
  const snoozed = record.waitingFor;
  if (snoozed != null && snoozed.until === until) {
    return { for: 'other', text: capitalize(snoozed.why), detail: null, until };
  }
  if (error !== null) return { for: 'retry', text: 'Waiting to try again', detail: error.message, until };
  return { for: 'other', text: 'Waiting to continue', detail: null, until };
}

/** The pause of a run's organization or report; undefined if there is none. */
export const pauseOfRun = (pauses: readonly Pause[], { org, report }: Pick<RunRecord, 'org' | 'report'>) =>
  pauses.find((pause) => pause.org === org && (pause.report === null || pause.report === report));

const tokensReason = (ahead: number, finish: number | null): WaitReason => ({
  for: 'tokens',
  text: `Waiting for a token of the API key, ${intlNumberFormat('en-GB').format(ahead)} ahead`,
  detail: null,
  until: finish,
});

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
