import { formatByteCount, formatCounted } from '../../../admin/page/components/format-numbers.ts';
import { isolateBidi } from '../../../base/text/bidi.ts';
import { SECOND_MS } from '../../../base/time.ts';
import { voterName } from '../../../run/review/delegations.ts';
import { figureQuoter, type ReviewView } from '../../../services/reviews/review-service.ts';
import type { LocalTimes } from '../../terminal/local-times.ts';

/** A sentence that says what the run waits for. */
export function phaseSentence({ state, reviewers, record }: ReviewView): string {
  const { phase, missingComments, approvals, need } = state;
  const left = need - approvals.length;
  switch (phase) {
    case 'figures':
      return 'Its figures are being fetched.';
    case 'comments':
      return `It waits for comments on ${missingComments.join(', ')}.`;
    case 'incomplete':
      return need > 0
        ? 'Figures are missing. An approval accepts that; so does a release, which then waits for approval.'
        : 'Figures are missing. A release delivers the run as it is.';
    case 'approval':
      return `It waits for ${formatCounted(left, 'approval')}. Who may approve: ${reviewers.length === 0 ? 'nobody' : reviewers.join(', ')}.`;
    case 'ready':
      return 'Its review is complete: a worker publishes and delivers it.';
    case 'sealed':
      return record.state === 'done' ? 'It is published and delivered.' : 'It is published.';
    case 'rejected':
      return 'It was rejected: nothing is sent.';
    case 'cancelled':
      return 'It was cancelled: nothing is sent.';
  }
}

/** Whether the review no longer waits for people or for a worker. */
export const isFinal = ({ phase }: ReviewView['state']): boolean =>
  phase === 'sealed' || phase === 'rejected' || phase === 'cancelled';

/** The review of a run as lines: what it waits for, its content, comments and approvals. */
export function reviewLines(
  view: ReviewView,
  { wide, times }: { readonly wide: boolean; readonly times: LocalTimes },
): string[] {
  const { state, due, files, packs, drafts, delivered } = view;
  const { content, comments, approvals, delegations, need } = state;
  const quote = figureQuoter(view.sections);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return [
    `  ${phaseSentence(view)}`,
    ...(delivered === null ? [] : [`  already delivered: ${delivered}`]),
    ...(due === null ? [] : [`  until      ${times.exact(due - SECOND_MS)}`]),
    ...(content === null ? [] : [`  content    ${wide ? content : content.slice(0, 12)}`]),
    ...(files.length === 0 ? [] : [`  files      ${formatCounted(files.length, 'file')} (${formatByteCount(bytes)})`]),
    ...packs.flatMap(({ label, headlines, held }) => [
      `  pack       ${isolateBidi(label)}${held === null ? '' : ': held'}`,
      ...headlines.map((headline) => `    ${isolateBidi(headline)}`),
    ]),
    ...(need === 0 ? [] : [`  approvals  ${approvals.length} of ${need}`]),
    ...approvals.map(({ by, at, reason }) => `    ${times.exact(at)}  ${voterName(by)}: ${reason}`),
    ...delegations.map(({ from, to, by, until, reason }) => {
      const end = until === null ? '' : `, until ${times.exact(until - SECOND_MS)}`;
      return `  deputy     ${to.name} for ${from.name}${end}; ${by.name}: ${reason}`;
    }),
    ...comments.flatMap(({ section, value, text, by, at, version }) => [
      `  comment on ${section ?? 'the whole report'}${value === undefined ? '' : ` for ${isolateBidi(value)}`}, ${by.name}, ${times.exact(at)}${version > 1 ? `, version ${version}` : ''}:`,
      ...quote(text)
        .split('\n')
        .map((line) => `    ${isolateBidi(line)}`.trimEnd()),
    ]),
    ...drafts.flatMap(({ section, kind, text, period, author }) => [
      `  draft for ${section ?? 'the whole report'}: the ${kind === 'actions' ? 'open actions of the ' : ''}comment of ${period} by ${author}; not printed`,
      ...(kind === 'actions' ? text.split('\n').map((line) => `    ${isolateBidi(line)}`) : []),
    ]),
  ];
}
