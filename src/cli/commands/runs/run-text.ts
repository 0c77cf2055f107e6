import { formatByteCount, formatCounted, formatElapsed } from '../../../admin/page/components/format-numbers.ts';
import type { ErrorJson } from '../../../base/error.ts';
import { type RunRecord, runStatus, STAGES } from '../../../run/run-record.ts';
import { heldSentence, isReportDelivery, nothingSent } from '../../../services/deliveries/decision-rules.ts';
import { isClosed } from '../../../services/deliveries/decisions.ts';
import {
  collectRecipients,
  groupTimeline,
  type TimelineGroup,
} from '../../../services/runs/timeline/group-timeline.ts';
import type { TimelineEntry } from '../../../services/runs/timeline/timeline-entry.ts';
import { deliveryLines, groupDeliveries, type ListedDelivery } from '../../terminal/delivery-groups.ts';
import type { LocalTimes } from '../../terminal/local-times.ts';
import { formatFileGroup, groupFiles } from '../../terminal/output-groups.ts';
import { idCells } from '../../terminal/table/cell.ts';
import { isFinal, reviewLines } from '../reviews/review-lines.ts';
import type { ArchivedRunDetails, LoadedRun } from './load-run.ts';

export interface RunTextOptions {
  /** Shows everything in full: each file with its hash, each call, complete ids. */
  readonly wide: boolean;
  readonly times: LocalTimes;
  /** The form in which to show a folder of the archive. */
  readonly folderOf: (location: string) => string;
}

/** A run as text for people: its state and the reason, its subject, steps, files, deliveries and record. */
export function formatRun(run: LoadedRun, options: RunTextOptions): string[] {
  const { record, archived, archiveError, held, review, timeline } = run;
  const source = record ?? archived?.manifest;
  const { org = '', report = '', period } = source ?? {};
  const status = record === undefined ? 'only in the archive' : statusWords(run);
  return [
    `${org}/${report} ${period?.label ?? ''}: ${status}`,
    `  ${describeRun(run, options.times)}`,
    ...(record?.error ? errorLines(record.error) : []),
    ...section('Review:', review === undefined ? [] : reviewLines(review, options)),
    ...section('Missing figures:', missingLines(run)),
    ...(held === undefined ? [] : recipientLines(run, held, options)),
    ...earlierLines(run, options),
    ...(timeline === undefined
      ? []
      : section(`Timeline, ${options.times.zone}:`, timelineLines(timeline.entries, options))),
    ...(archived !== undefined
      ? fileLines(archived, options)
      : archiveError !== undefined
        ? section('Files: the archive cannot be read now.', errorLines(archiveError.toJSON()))
        : review !== undefined && !isFinal(review.state)
          ? []
          : ['', 'No files in the archive.']),
    ...section('Deliveries:', deliveryTexts(run, options)),
    ...section('Record:', recordLines(run, options)),
    ...(options.wide && archived !== undefined ? section('Calls:', callLines(archived)) : []),
  ];
}

function statusWords({ record, rows }: LoadedRun): string {
  if (record === undefined) return '';
  const reports = rows.filter(isReportDelivery);
  return runStatus(record, reports.length === 0 ? undefined : reports).replaceAll('_', ' ');
}

const section = (heading: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', heading, ...lines];

const field = (name: string, value: string): string => `  ${name.padEnd(11)} ${value}`;

const errorLines = ({ message, code, expected, got, where, next }: ErrorJson): string[] => [
  field('why', `${message} [${code}]`),
  ...Object.entries({ where, expected, got, 'to do': next }).flatMap(([name, value]) =>
    value === undefined ? [] : [field(name, value)],
  ),
];

function missingLines({ held, archived }: LoadedRun): string[] {
  if (held?.missing) {
    return held.missing.map(({ section: id, title, text }) => `  ${title === null ? id : `${title} (${id})`}: ${text}`);
  }
  return (archived?.manifest.incomplete ?? []).map(({ section: id, text }) => `  ${id}: ${text}`);
}

/** Who will receive a run that waits for people, once it is released or approved. */
function recipientLines(
  { record }: LoadedRun,
  { recipients }: NonNullable<LoadedRun['held']>,
  { wide }: RunTextOptions,
): string[] {
  const [toHeading, notToHeading] =
    record?.state === 'awaiting_approval' || record?.error?.code === 'run.comments_missing'
      ? ['It delivers to:', 'It does not deliver to:']
      : ['A release delivers to:', 'A release does not deliver to:'];
  const formatRecipients = (receives: boolean): string[] => {
    const chosen = recipients?.filter((each) => each.receives === receives) ?? [];
    const named = wide ? chosen : chosen.slice(0, MAX_RECIPIENTS);
    return [
      ...named.map(({ recipient, target, why }) => `  ${recipient} (${target})${why === null ? '' : `: ${why}`}`),
      ...(named.length === chosen.length ? [] : [`  and ${chosen.length - named.length} more: --wide names all`]),
    ];
  };
  const receiving = formatRecipients(true);
  return [
    ...section(
      toHeading,
      recipients === null
        ? ['  unknown: its definition is no longer stored']
        : receiving.length === 0
          ? ['  none']
          : receiving,
    ),
    ...section(notToHeading, formatRecipients(false)),
  ];
}

/** Maximum lines of recipients of a held run. They are listed because the decision is about them. */
const MAX_RECIPIENTS = 20;

function earlierLines({ timeline }: LoadedRun, { times, wide }: RunTextOptions): string[] {
  const earlier = timeline?.earlier ?? null;
  if (earlier === null) return [];
  const parts = [
    ...Object.entries(earlier.sent).map(([kind, count]) => `${count} by ${kind}`),
    ...(earlier.uncertain === 0 ? [] : [`${earlier.uncertain} with an unknown result`]),
  ];
  const id = wide ? earlier.run : earlier.run.slice(0, 8);
  return section('Delivered before for this period:', [`  run ${id}, ${times.exact(earlier.at)}: ${parts.join(', ')}`]);
}

function fileLines(
  { location, manifest: { files } }: ArchivedRunDetails,
  { wide, folderOf }: RunTextOptions,
): string[] {
  const lines = wide
    ? files.map(({ name, bytes, sha256 }) => `  ${name}, ${bytes} bytes, SHA-256 ${sha256}`)
    : groupFiles(files).map((group) => `  ${formatFileGroup(group)}`);
  const total = formatByteCount(files.reduce((sum, { bytes }) => sum + bytes, 0));
  const heading = wide
    ? `Files in ${location}:`
    : `Files: ${formatCounted(files.length, 'file')} (${total}) in ${folderOf(location)}`;
  return section(heading, lines);
}

/** Lines for the rows of the ledger, or for the archived receipts if the ledger has lost them. */
function deliveryTexts({ rows, archived }: LoadedRun, { wide }: RunTextOptions): string[] {
  const known: readonly (ListedDelivery & { readonly id: string })[] =
    rows.length > 0
      ? rows
      : (archived?.receipts ?? []).map(({ delivery, ...receipt }) => ({ id: delivery, ...receipt }));
  if (known.length === 0) return ['  none'];
  const cellOf = idCells(known.map(({ id }) => id));
  const single = ({ id, target, recipient, state, detail }: (typeof known)[number]): string =>
    `  ${state.padEnd(8)} ${recipient} (${target}), delivery ${wide ? id : cellOf(id).brief}${detail === null ? '' : `: ${detail}`}`;
  if (wide) return known.map(single);
  return groupDeliveries(known).flatMap((group) =>
    group.length <= MAX_SINGLE && needsSomebody(group)
      ? group.map(single)
      : deliveryLines(group).map((line) => `  ${line}`),
  );
}

/** Up to this many deliveries with the same result are shown one by one, with their ids. More share one line. */
const MAX_SINGLE = 3;

const needsSomebody = ([first]: readonly ListedDelivery[]): boolean =>
  first !== undefined && first.state !== 'sent' && first.state !== 'skipped';

function recordLines({ id, record, rows, archived }: LoadedRun, { wide, times }: RunTextOptions): string[] {
  const source = record ?? archived?.manifest;
  const { slot = '', period, digest = '' } = source ?? {};
  return [
    field('run', id),
    field('slot', slot),
    field('period', period === undefined ? '' : `${period.from} to ${period.to} (${period.timezone})`),
    field('definition', wide ? digest : digest.slice(0, 12)),
    ...(record === undefined
      ? decisionLines({ rows, archived }, times)
      : collectFacts(record, times).map(([name, value]) => field(name, value))),
  ];
}

function collectFacts(record: RunRecord, times: LocalTimes): (readonly [string, string])[] {
  const { calls, prepared, trigger, by, priority, deliver, attempts, starts, timings, tokenWaitMs } = record;
  const stages = STAGES.flatMap((stage) =>
    timings[stage] === undefined ? [] : `${stage} ${formatElapsed(timings[stage])}`,
  );
  return [
    ['trigger', `${trigger}${by === undefined ? '' : ` by ${by}`}, ${priority}${deliver ? '' : ', delivers nothing'}`],
    ['tries', `${attempts}, started ${formatCounted(starts, 'time')}`],
    ['calls', `${calls.planned} planned, ${calls.made} made, ${calls.saved} cached`],
    ...(prepared === undefined
      ? []
      : [
          [
            'prepared',
            `${prepared.calls} of ${formatCounted(calls.planned, 'call')}, from ${times.exact(prepared.from)}`,
          ] as const,
        ]),
    ['took', [...stages, `waiting for tokens ${formatElapsed(tokenWaitMs)}`].join(', ')],
  ];
}

/** Shows the decisions from the archive and the ledger, because without a record there is no timeline. */
function decisionLines({ rows, archived }: Pick<LoadedRun, 'rows' | 'archived'>, times: LocalTimes): string[] {
  const { release } = archived ?? {};
  return [
    ...(release === undefined ? [] : [`  ${times.exact(release.at)}  released by ${release.by}: ${release.reason}`]),
    ...rows.flatMap(({ recipient, decisions }) =>
      decisions.map(
        ({ to, by, reason, at }) =>
          `  ${times.exact(at)}  ${recipient} ${to === 'sent' ? 'declared sent' : 'to be sent again'} by ${by}: ${reason}`,
      ),
    ),
  ];
}

const callLines = ({ manifest }: ArchivedRunDetails): string[] =>
  manifest.calls.map(
    ({ method, path, rows, asOf, correlationId }) =>
      `  ${method} ${path}: ${rows} rows, as of ${asOf ?? 'unknown'}, correlation ${correlationId ?? 'unknown'}`,
  );

/** One line per step. Deliveries with the same result share a line, except with `wide`. */
function timelineLines(
  entries: readonly TimelineEntry[],
  { wide, times }: { readonly wide: boolean; readonly times: LocalTimes },
): string[] {
  const groups: readonly TimelineGroup[] = wide
    ? entries.map((entry) => ({ head: entry, entries: [entry] }))
    : groupTimeline(entries);
  const moments = groups.map(({ head }) => formatMoment(head, times));
  const width = Math.max(0, ...moments.map((moment) => moment.length));
  return groups.map((group, index) => `  ${(moments[index] ?? '').padEnd(width)}  ${stepText(group, times)}`);
}

function formatMoment({ at, kind }: TimelineEntry, times: LocalTimes): string {
  if (at !== null) return times.exact(at);
  // An empty time would make the text look like the end of the previous line.
  return kind === 'waiting' || kind === 'active' ? 'now' : '-';
}

function stepText(group: TimelineGroup, times: LocalTimes): string {
  const { head, entries } = group;
  const { text, by, ms, until, detail, recipient, kind } = head;
  const grouped = entries.length > 1;
  const subject = grouped
    ? `: ${formatCounted(collectRecipients(group).length, 'recipient')}`
    : recipient === null
      ? ''
      : `: ${recipient}`;
  // Shared lines leave out the servers' responses, which differ between recipients.
  const remark = detail === null || (grouped && kind === 'delivery') ? '' : ` (${detail})`;
  return [
    text,
    subject,
    by === null ? '' : ` by ${by}`,
    ms === null ? '' : `, ${formatElapsed(ms)}`,
    until === null ? '' : `, until ${times.exact(until)}`,
    remark,
  ].join('');
}

/** One or two sentences about what is certain to have happened, and what has not. */
function describeRun({ record, rows, timeline, review, archived, archiveError }: LoadedRun, times: LocalTimes): string {
  if (record === undefined) return 'Redis has no record of this run; this is what the archive has.';
  const reports = rows.filter(isReportDelivery);
  const all = reports.length === 0 ? record.deliveries : reports;
  const known = all.filter(({ state }) => !isClosed(state));
  const count = (state: string): number => known.filter((row) => row.state === state).length;
  const sent = count('sent');
  const others = (['refused', 'unknown', 'pending', 'sending'] as const).flatMap((state) =>
    count(state) === 0 ? [] : `${count(state)} ${OTHER_WORDS[state]}`,
  );
  const arrived = `${sent} of ${formatCounted(known.length, 'delivery', 'deliveries')} arrived${others.length === 0 ? '' : `, ${others.join(', ')}`}.`;
  const files =
    archiveError !== undefined
      ? 'The archive cannot be read now'
      : archived === undefined
        ? 'No files are in the archive'
        : 'Its files are in the archive';
  const status = runStatus(record, reports.length === 0 ? undefined : reports);
  switch (status) {
    case 'done':
      if (!record.deliver) return `${files}. It was triggered without deliveries.`;
      return known.length === 0 ? `${files}. ${nothingSent(all)}` : arrived;
    case 'partly_delivered':
      return `${arrived} ${heldSentence(record)}`.trim();
    case 'delivery_unknown':
      return `No delivery is confirmed: ${arrived}`;
    case 'held':
      if (record.error?.code === 'run.comments_missing') return 'It waits for comments. Nothing was sent.';
      if (review !== undefined) return 'Figures are missing. Nothing was sent.';
      return `Figures are missing. Nothing was sent. ${files}.`;
    case 'awaiting_approval':
      return 'It waits for approval. Nothing was sent.';
    case 'failed':
    case 'cancelled':
      return sent === 0 ? `${files}. Nothing is known to have been delivered.` : `${files}. ${arrived}`;
    case 'skipped':
      return 'The slot was not opened: no files were made, and nothing was sent.';
    case 'queued':
    case 'running':
    case 'waiting':
    case 'cancelling':
      return waitSentence(timeline?.waits ?? null, status, times);
  }
}

const OTHER_WORDS = { refused: 'refused', unknown: 'unknown', pending: 'not sent', sending: 'being sent' } as const;

function waitSentence(
  waits: NonNullable<LoadedRun['timeline']>['waits'],
  status: 'queued' | 'running' | 'waiting' | 'cancelling',
  times: LocalTimes,
): string {
  if (status === 'cancelling') return 'A cancellation is requested; it stops before its next step.';
  if (waits === null) return status === 'running' ? 'A worker is working on it.' : 'It has not ended.';
  const until = waits.until === null ? '' : ` until ${times.exact(waits.until)}`;
  return `${waits.text}${until}.${waits.detail === null ? '' : ` ${waits.detail}`}`;
}
