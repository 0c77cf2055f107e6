import { stripInvisible } from '../../base/text/bidi.ts';
import { parseComment, REQUEST_LINE, spansText } from '../../definitions/commentary/comment-text.ts';
import { shortPeriod } from '../../definitions/periods/period.ts';
import { messagesFor } from '../../i18n/messages.ts';
import { blockLines } from '../../render/pack/review/block-lines.ts';
import { loadReview } from '../../run/review/load-review.ts';
import type { ReviewComment } from '../../run/review/review-state.ts';
import type { RunRecord } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';
import type { CarriedComment } from './review-service.ts';
import type { FrozenReport } from './reviewed-files.ts';

/** How many runs of the report to search. Several may have the same period. */
const MAX_RUNS = 50;
/** How many of their reviews to read. */
const MAX_REVIEWS = 12;

/**
 * Makes drafts from the comments of the most recent commented period, for what has no comment yet: the actions in them
 * and, in sections with `carry`, whole comments if that period is the one before the run's. Drafts are never printed.
 * Empty if no recorded run of an earlier period was reviewed.
 */
export async function carriedComments(
  run: RunRecord,
  { definition, locale }: Pick<FrozenReport, 'definition' | 'locale'>,
  comments: readonly ReviewComment[],
  { reviews, runs }: Deployment,
): Promise<readonly CarriedComment[]> {
  const whole = new Set(
    definition.sections.flatMap(({ id, commentary = {} }) => ('carry' in commentary && commentary.carry ? [id] : [])),
  );
  const open = [null, ...definition.sections.map(({ id }) => id)].filter(
    (id) => !comments.some(({ section, value }) => section === id && value === undefined),
  );
  if (open.length === 0) return [];
  const { org, report, period } = run;
  const earlier = (await runs.list({ org, report, limit: MAX_RUNS }))
    .filter((each) => each.id !== run.id && each.deliver && each.period.to < period.from)
    // The last period first, and its newest run first: a corrected edition replaces the original.
    .sort((a, b) => compare(b.period.to, a.period.to) || b.createdAt - a.createdAt);
  const [latest] = earlier;
  const seen = new Set<string>();
  for (const each of earlier.slice(0, MAX_REVIEWS)) {
    if (seen.has(each.period.to)) continue;
    const { state } = await loadReview(reviews, { id: each.id, org, report });
    if (state.phase !== 'sealed') continue;
    seen.add(each.period.to);
    if (state.comments.length === 0) continue;
    // A whole comment from two periods ago is no useful draft; an open action still is.
    const isLast = each.period.to === latest?.period.to;
    const origin = messagesFor(locale).review.carried(shortPeriod(each.period, locale));
    return open.flatMap((section): CarriedComment[] => {
      const comment = state.comments.find((written) => written.section === section && written.value === undefined);
      if (comment === undefined) return [];
      const kind = isLast && section !== null && whole.has(section) ? 'comment' : 'actions';
      const text = kind === 'comment' ? stripInvisible(comment.text) : openActions(comment.text, origin);
      if (text === '') return [];
      return [{ section, kind, text, author: comment.by.name, period: each.period.label, run: each.id }];
    });
  }
  return [];
}

/** Ends an action that was carried over before, in any language. It names the period that the action comes from. */
const CARRIED = /\((?:carried from|übernommen aus) [^()]*\)$/iu;
const STARS = { em: '*', strong: '**' } as const;

/** The actions in a comment, one per line, with the period that they come from. */
const openActions = (text: string, origin: string): string =>
  blockLines(parseComment(text))
    .filter(({ spans }) => REQUEST_LINE.exec(spansText(spans))?.groups?.action !== undefined)
    .map(({ spans }) => {
      const line = spans.map(({ text, emphasis }) => {
        const stars = emphasis === undefined ? '' : STARS[emphasis];
        return `${stars}${text}${stars}`;
      });
      return CARRIED.test(spansText(spans)) ? line.join('') : `${line.join('')} (${origin})`;
    })
    .join('\n');

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
