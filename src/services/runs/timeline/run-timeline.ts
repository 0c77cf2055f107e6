import { intlNumberFormat } from '../../../base/text/intl.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../base/time.ts';
import { type DeliveryRow, type DeliveryState, NOTICE_TARGET } from '../../../deliver/ledger/ledger.ts';
import type { LiveProgress } from '../../../run/live-progress.ts';
import {
  isInlineRun,
  type RunDecision,
  type RunRecord,
  type RunStatus,
  type RunTrigger,
  runStatus,
  STAGES,
  type Stage,
} from '../../../run/run-record.ts';
import type { DeliveryEvent, RunHistory } from '../run-history.ts';
import { reviewSteps } from './review-timeline.ts';
import { step, type TimelineEntry } from './timeline-entry.ts';
import type { WaitReason } from './wait-reason.ts';

export interface TimelineInput {
  readonly record: RunRecord;
  /** Null unless a worker runs it. */
  readonly live: LiveProgress | null;
  /** All ledger rows, including notices. */
  readonly rows: readonly DeliveryRow[];
  readonly history: RunHistory;
  readonly waits: WaitReason | null;
}

/** Makes a run's steps, oldest first. */
export function buildTimeline(input: TimelineInput): readonly TimelineEntry[] {
  const { record, rows, history } = input;
  const entries = [
    ...(record.state === 'skipped' ? [] : stageEntries(input)),
    ...reviewSteps(history.review).map(({ text, ...of }) => step('review', text, of)),
    ...record.reopened
      // The review's own events say more.
      .filter(({ what }) => what !== 'review' || history.review.length === 0)
      .map((decision) => decided(decision, rows)),
    ...rows.flatMap((row) => deliveryEntries(row, history.events, noticeName(record))),
    ...ended(input),
  ];
  // The trigger comes first, even if the worker's clock is behind. Notices and decisions may follow the end.
  return [triggered(record), ...inOrder(entries), ...current(input)];
}

/** Sorts by time. An entry without a time follows the entry before it. */
function inOrder(entries: readonly TimelineEntry[]): readonly TimelineEntry[] {
  let last = 0;
  return entries
    .map((entry) => {
      last = entry.at ?? last;
      return { entry, at: last };
    })
    .sort((one, other) => one.at - other.at)
    .map(({ entry }) => entry);
}

const count = (value: number, one: string, many = `${one}s`): string =>
  `${intlNumberFormat('en-GB').format(value)} ${value === 1 ? one : many}`;

/** A duration in its largest unit, rounded down: `3 days`, `1 hour`. */
function largestUnit(ms: number): string {
  if (ms >= DAY_MS) return count(Math.floor(ms / DAY_MS), 'day');
  if (ms >= HOUR_MS) return count(Math.floor(ms / HOUR_MS), 'hour');
  return count(Math.floor(ms / MINUTE_MS), 'minute');
}

const TRIGGER_TEXTS: Readonly<Record<RunTrigger, string>> = {
  schedule: 'Opened by the schedule',
  on_demand: 'Triggered on demand',
  cli: 'Triggered on the command line',
  backfill: 'Triggered by a backfill',
};

function triggered({ trigger, by, slot, state, error, createdAt }: RunRecord): TimelineEntry {
  if (state === 'skipped') {
    return step('ended', 'The slot was not opened', {
      at: createdAt,
      outcome: 'failed',
      detail: error?.message ?? null,
    });
  }
  const lateMs = trigger === 'schedule' ? createdAt - Date.parse(slot) : 0;
  const late = lateMs >= MINUTE_MS ? `, ${largestUnit(lateMs)} after its slot` : '';
  return step('triggered', `${TRIGGER_TEXTS[trigger]}${late}`, { at: createdAt, by: by ?? null });
}

/**
 * The start, and the stages up to the archive. Times are those of the last attempt; durations are the total of all
 * attempts.
 */
function stageEntries({ record, live, history }: TimelineInput): readonly TimelineEntry[] {
  const { timings, startedAt, calls, tokenWaitMs, files, reopened } = record;
  const findEnd = (stage: Stage): number | null => record.stageEnds?.[stage] ?? derivedEnd(record, stage);
  const failing = failingStage(record);
  const failed = { outcome: 'failed' } as const;
  const continues = reopened.some(({ what }) => what !== 'cancel');
  const tries = record.attempts > 1 ? `, ${count(record.attempts, 'attempt')}` : '';
  const crashes = record.losses.all > 0 ? `, ${count(record.losses.all, 'worker crash', 'worker crashes')}` : '';
  const starter = isInlineRun(record) ? 'the command' : 'a worker';
  const started =
    startedAt === null
      ? []
      : [step('started', `${continues ? 'Continued' : 'Started'} by ${starter}${tries}${crashes}`, { at: startedAt })];
  // A stage without a time belongs to the first start, whose time is not stored.
  const entries: TimelineEntry[] = continues ? [] : started;
  if (failing === 'plan') entries.push(step('fetched', 'The plan failed', { at: findEnd('plan'), ...failed }));
  if (tokenWaitMs >= SECOND_MS) {
    entries.push(step('tokens', 'Waited for tokens of the API key', { ms: tokenWaitMs }));
  }
  if (timings.fetch !== undefined && live?.stage !== 'fetch') {
    const answered = calls.made + calls.saved;
    const cached = calls.saved === 0 ? '' : `, ${intlNumberFormat('en-GB').format(calls.saved)} of them from a cache`;
    const text =
      failing === 'fetch'
        ? `Fetching stopped after ${intlNumberFormat('en-GB').format(answered)} of ${count(calls.planned, 'call')}`
        : `${count(answered, 'call')} answered${cached}`;
    entries.push(
      step('fetched', text, { at: findEnd('fetch'), ms: timings.fetch, ...(failing === 'fetch' ? failed : {}) }),
    );
  }
  if (timings.render !== undefined && live?.stage !== 'render') {
    const text =
      failing === 'render'
        ? 'Rendering failed'
        : files.length > 0
          ? `${count(files.length, 'file')} created`
          : 'Files created';
    const at = history.madeAt ?? findEnd('render');
    entries.push(step('rendered', text, { at, ms: timings.render, ...(failing === 'render' ? failed : {}) }));
  }
  if (timings.seal !== undefined) {
    const text = failing === 'seal' ? 'Archiving failed' : 'Archived';
    const at = history.madeAt === null ? findEnd('seal') : Math.max(history.madeAt, findEnd('seal') ?? 0);
    entries.push(step('archived', text, { at, ms: timings.seal, ...(failing === 'seal' ? failed : {}) }));
  }
  if (record.state === 'held' || reopened.some(({ what }) => what === 'release')) {
    const at = record.state === 'held' ? record.finishedAt : null;
    const isCommented = record.error?.code === 'run.comments_missing';
    const detail = `Nothing was sent, because ${isCommented ? 'comments' : 'figures'} are missing.`;
    entries.push(step('held', 'Held', { at, outcome: 'waiting', detail }));
  }
  if (record.state === 'awaiting_approval') {
    const detail = 'Nothing is sent before enough people have approved it.';
    entries.push(step('held', 'Awaiting approval', { at: record.finishedAt, outcome: 'waiting', detail }));
  }
  return continues ? [...entries, ...started] : entries;
}

/** When a stage of an uninterrupted run ended, computed from the start and the durations; otherwise null. */
function derivedEnd({ startedAt, starts, reopened, timings }: RunRecord, stage: Stage): number | null {
  if (startedAt === null || starts > 1 || reopened.length > 0 || timings[stage] === undefined) return null;
  const until = STAGES.slice(0, STAGES.indexOf(stage) + 1);
  return until.reduce((at, each) => at + (timings[each] ?? 0), startedAt);
}

/** The stage before the deliveries in which the last attempt failed. */
function failingStage({ state, error, timings }: RunRecord): Stage | undefined {
  if (error === null || !['failed', 'waiting', 'queued', 'cancelled'].includes(state)) return undefined;
  const last = STAGES.findLast((stage) => timings[stage] !== undefined);
  return last === 'deliver' || state === 'cancelled' ? undefined : last;
}

const DECISION_TEXTS: Readonly<Record<RunDecision['what'], string>> = {
  release: 'Released',
  retry: 'Retried',
  resend: 'Reopened to send again',
  settle: 'Reopened to complete it',
  cancel: 'Cancellation requested',
  review: 'Reviewed',
};

function decided({ what, by, reason, at }: RunDecision, rows: readonly DeliveryRow[]): TimelineEntry {
  // The deliveries themselves show the reason for a decision about them.
  const follows = what === 'resend' || what === 'settle';
  const isShownElsewhere = follows && rows.some(({ decisions }) => decisions.some((one) => one.reason === reason));
  return step('decision', DECISION_TEXTS[what], { at, by, detail: isShownElsewhere ? null : reason });
}

const STATE_STEPS: Readonly<Record<DeliveryState, Pick<TimelineEntry, 'text' | 'outcome'>>> = {
  pending: { text: 'Not sent yet', outcome: 'waiting' },
  sending: { text: 'Being sent', outcome: 'active' },
  sent: { text: 'Sent', outcome: 'ok' },
  refused: { text: 'Refused', outcome: 'failed' },
  unknown: { text: 'Result unknown', outcome: 'uncertain' },
  replaced: { text: 'Replaced by another address', outcome: 'ok' },
  withdrawn: { text: 'Withdrawn for a corrected edition', outcome: 'ok' },
  skipped: { text: 'Skipped: on the deny list', outcome: 'ok' },
};
const RESOLUTION_STEPS = {
  sent: 'Declared sent',
  pending: 'To be sent again',
  replaced: 'Replaced by another address',
  withdrawn: 'Withdrawn for a corrected edition',
  skipped: 'Skipped: on the deny list',
} as const;

/** In a reviewed run, approvers and authors get notices as well. */
const noticeName = ({ review }: RunRecord): string => (review === undefined ? 'Notice to the owner' : 'Notice');

/** A delivery's attempts and the decisions about it: from the archive if it was read, otherwise from the ledger row. */
function deliveryEntries(row: DeliveryRow, events: readonly DeliveryEvent[], notice: string): readonly TimelineEntry[] {
  const { id: delivery, recipient, target, decisions } = row;
  const kind = target === NOTICE_TARGET ? 'notice' : 'delivery';
  const of = { delivery, recipient };
  const attempted = (state: DeliveryState, at: number, detail: string | null): TimelineEntry => {
    const { text, outcome } = STATE_STEPS[state];
    return step(kind, kind === 'notice' ? `${notice}: ${text.toLowerCase()}` : text, {
      at,
      outcome,
      detail,
      ...of,
    });
  };
  const attempts = events.filter((event) => event.delivery === delivery && event.state !== 'sending');
  const last = attempts.at(-1);
  const isDecided = decisions.some(({ at }) => at === row.at);
  // The ledger is newer if the process died before it wrote to the archive, or if the archive was not read.
  const isNewer = !isDecided && (last === undefined || last.state !== row.state || last.at > row.at);
  const isPlanned = row.state === 'pending' && row.detail === null;
  return [
    ...foldAttempts(attempts).map(({ state, at, detail, times }) => {
      const entry = attempted(state, at, detail);
      return times === 1 ? entry : { ...entry, text: `${entry.text}, ${count(times, 'attempt')}` };
    }),
    ...decisions.map(({ to, by, reason, at }, index) => {
      const text = row.added && index === 0 ? 'Recipient added' : RESOLUTION_STEPS[to];
      return step('delivery_decision', text, { at, by, detail: reason, ...of });
    }),
    ...(isNewer && !isPlanned ? [attempted(row.state, row.at, row.detail)] : []),
  ];
}

/**
 * Combines consecutive attempts with the same result into the last of them, so that a server's hour of downtime is one
 * line.
 */
function foldAttempts(attempts: readonly DeliveryEvent[]): readonly (DeliveryEvent & { readonly times: number })[] {
  const folded: (DeliveryEvent & { readonly times: number })[] = [];
  for (const attempt of attempts) {
    const last = folded.at(-1);
    const isSame = last?.state === attempt.state;
    if (isSame) folded.pop();
    folded.push({ ...attempt, times: isSame ? last.times + 1 : 1 });
  }
  return folded;
}

const STAGE_TEXTS: Readonly<Record<LiveProgress['stage'], string>> = {
  plan: 'Planning',
  fetch: 'Fetching',
  render: 'Creating the files',
  deliver: 'Delivering',
};

const END_TEXTS = {
  done: ['Completed', 'ok'],
  partly_delivered: ['Ended, partly delivered', 'failed'],
  delivery_unknown: ['Ended without a known delivery', 'uncertain'],
  cancelled: ['Cancelled', 'ok'],
  failed: ['Failed', 'failed'],
} as const satisfies Record<string, readonly [string, TimelineEntry['outcome']]>;

const isEnd = (status: string): status is keyof typeof END_TEXTS => Object.hasOwn(END_TEXTS, status);

const deriveStatus = ({ record, rows }: TimelineInput): RunStatus => {
  const reports = rows.filter(({ target }) => target !== NOTICE_TARGET);
  return runStatus(record, reports.length === 0 ? undefined : reports);
};

function ended(input: TimelineInput): readonly TimelineEntry[] {
  const { record } = input;
  const status = deriveStatus(input);
  if (!isEnd(status)) return [];
  const [text, outcome] = END_TEXTS[status];
  const unsent = status === 'done' && !record.deliver ? ', without deliveries as requested' : '';
  const isShownElsewhere =
    (record.state === 'cancelled' && record.cancel !== null) ||
    (record.error?.code.startsWith('deliver.') === true && input.rows.length > 0);
  const detail = isShownElsewhere ? null : (record.error?.message ?? null);
  return [step('ended', `${text}${unsent}`, { at: record.finishedAt, outcome, detail })];
}

/** What an unfinished run is doing or waiting for. */
function current(input: TimelineInput): readonly TimelineEntry[] {
  const { live, waits } = input;
  const status = deriveStatus(input);
  if (waits !== null) {
    return [step('waiting', waits.text, { outcome: 'waiting', detail: waits.detail, until: waits.until })];
  }
  if (status === 'cancelling') return [step('active', 'Stops before its next step', { outcome: 'active' })];
  return status === 'running'
    ? [step('active', live === null ? 'Running' : STAGE_TEXTS[live.stage], { outcome: 'active' })]
    : [];
}
