import { z } from 'zod';
import { DocketError } from '../base/error.ts';
import type { RunRecord } from '../run/run-record.ts';
import type { DemoPerson, DemoSignIn } from './demo-page.ts';
import type { RunStates } from './run-states.ts';

/** The section of the board pack that needs a comment. */
export const COMMENTED_SECTION = 'scorecard';
/** References instead of numbers, so that the comment is right in every month. */
export const DEMO_COMMENT = `*{{ scorecard.profiles.created }}* clients were created, {{ scorecard.profiles.created.change }} against the month before.

- Approval rate: {{ scorecard.profiles.approval_rate }} ({{ scorecard.profiles.approval_rate.status }})
- Half of the decisions took less than {{ scorecard.profiles.time_to_decision_p50 }}`;

const reviewSchema = z.looseObject({
  phase: z.string(),
  content: z.string().nullable(),
  need: z.int(),
  approvals: z.array(z.object({ name: z.string() })),
  reviewers: z.array(z.string()),
  missing_comments: z.array(z.string()),
});
type Review = z.infer<typeof reviewSchema>;

interface ReviewDemo {
  readonly signIn: DemoSignIn;
  readonly run: Pick<RunRecord, 'id' | 'org' | 'report'>;
  readonly states: RunStates;
  readonly printLine: (line: string) => void;
  readonly signal: AbortSignal;
}

const WAITS_FOR_PEOPLE: readonly string[] = ['held', 'awaiting_approval'];

/**
 * Lets the people of the demo comment on the run and approve it through the API, as a page or their own program would.
 * Resolves when the run has ended for good.
 */
export async function reviewRun({ signIn, run, states, printLine, signal }: ReviewDemo): Promise<void> {
  const name = `${run.org}/${run.report}`;
  const say = (who: string, text: string) => printLine(`${name}  ${who.padEnd(9)} ${text}`);
  const call = async (who: DemoPerson, method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${signIn.url}/api/runs/${run.id}/${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${signIn.tokens[who]}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal,
    });
    const answer: unknown = await response.json();
    if (response.ok) return answer;
    throw new DocketError('internal.defect', `The demo's API answers ${response.status}.`, {
      where: `${method} ${path}`,
      got: JSON.stringify(answer),
    });
  };
  const look = async (who: DemoPerson): Promise<Review> => reviewSchema.parse(await call(who, 'GET', 'review'));

  let { state, seen } = await states.next(run.id, 0);
  if (state === 'held') {
    const { missing_comments: missing } = await look('analyst');
    say('review', `waits for a comment on ${missing.join(', ')}: nothing is sent`);
    await call('analyst', 'PUT', `comments/${COMMENTED_SECTION}`, { text: DEMO_COMMENT });
    say('analyst', `comments on ${COMMENTED_SECTION}`);
    ({ state, seen } = await states.next(run.id, seen));
  }
  if (state === 'awaiting_approval') {
    const { content, reviewers, need, approvals } = await look('mlro');
    const short = content?.slice(0, 8) ?? '';
    say('review', `waits for approval by ${reviewers.join(', ')} (${approvals.length} of ${need})`);
    await call('mlro', 'POST', 'approve', { content, reason: 'Figures agree with the register' });
    say('mlro', `approves content ${short}`);
    await states.next(run.id, seen, (next) => !WAITS_FOR_PEOPLE.includes(next));
  }
}

/** Tells the person at the page what the run waits for, until it has ended for good. */
export async function awaitReview({ signIn, run, states, printLine }: ReviewDemo): Promise<void> {
  for (let seen = 0; ; ) {
    const reached = await states.next(run.id, seen);
    seen = reached.seen;
    if (!WAITS_FOR_PEOPLE.includes(reached.state)) return;
    const [who, task]: readonly [DemoPerson, string] =
      reached.state === 'held' ? ['analyst', `comment on ${COMMENTED_SECTION}`] : ['mlro', 'approve or reject'];
    printLine('');
    printLine(`${run.org}/${run.report} is ${reached.state.replaceAll('_', ' ')}. To ${task}:`);
    printLine(`  ${signIn.url}/runs/${run.id}#review`);
    printLine(`  sign in as ${who} with the token ${signIn.tokens[who]}`);
    printLine('');
  }
}

/** Once the other reports are done, says what else the page shows. */
export async function suggestPages(
  { signIn, states, printLine }: Pick<ReviewDemo, 'signIn' | 'states' | 'printLine'>,
  runs: readonly Pick<RunRecord, 'id' | 'report'>[],
): Promise<void> {
  const pages = runs.flatMap(({ id, report }) => {
    const shows = SHOWN.get(report);
    return shows === undefined ? [] : [{ id, line: `  ${shows.padEnd(40)} ${signIn.url}/runs/${id}` }];
  });
  await Promise.all(pages.map(({ id }) => states.next(id, 0)));
  printLine('');
  printLine('Meanwhile, look at:');
  for (const { line } of pages) printLine(line);
  printLine(`  ${'which report would be late, and why'.padEnd(40)} ${signIn.url}/forecast`);
  printLine('');
}

const SHOWN: ReadonlyMap<string, string> = new Map([
  ['weekly-kpi', 'a finished run: files, mail and timeline'],
  ['desks', 'four desks, each with its own pack'],
]);
