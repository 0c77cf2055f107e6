import { z } from 'zod';
import { reviewsAccess } from '../../../admin/access/reviews.ts';
import { reviewView } from '../../../admin/api/runs/review-view.ts';
import { DocketError } from '../../../base/error.ts';
import { withDecisions } from '../../../compose/decisions.ts';
import type { ReviewView } from '../../../services/reviews/review-service.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { parseReason } from '../../options/actor.ts';
import { invalidOption } from '../../options/option-parsers.ts';
import { requireRunId } from '../../options/run-id.ts';
import { assertSees, signIn } from '../../options/sign-in.ts';
import { timesFor } from '../../terminal/local-times.ts';
import { createPrinter } from '../../terminal/print.ts';
import { isTerminal } from '../../terminal/style.ts';
import { withRepeatConfirmation } from '../runs/confirm-repeat.ts';
import { phaseSentence, reviewLines } from './review-lines.ts';

interface DecideFlags {
  readonly reason: string;
  readonly content?: string;
  readonly refetch?: boolean;
  readonly again?: boolean;
  readonly json?: boolean;
}

const CONTENT = /^[0-9a-f]{8,64}$/;

/** Approves or rejects the content that a run would deliver, as the person of a token. */
export async function decideReview(
  what: 'approve' | 'reject',
  text: string,
  flags: DecideFlags,
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const reason = parseReason(flags.reason);
  assertContent(flags.content);
  const context = await createContext(io);
  const principal = await signIn(context, io);
  await withDecisions(
    context,
    async ({ reviewService, runs }) => {
      const id = await requireRunId(text, runs);
      await assertSees(principal, id, runs);
      const access = reviewsAccess({ reviewService, runs }, principal);
      const content =
        flags.content ?? (await confirmContent(what, id, await access.review(id), context.clock.now(), io, flags.json));
      const view =
        what === 'approve'
          ? await withRepeatConfirmation({ again: flags.again ?? false, json: flags.json ?? false }, io, (again) =>
              access.approve(id, content, reason, again),
            )
          : await access.reject(id, content, { reason, refetch: flags.refetch ?? false });
      if (flags.json) return print.printJson(reviewView(view));
      const { org, report, period } = view.record;
      print.printText(`${what === 'approve' ? 'Approved' : 'Rejected'}: ${org}/${report} ${period.label}.`);
      print.printText(phaseSentence(view));
      print.printText(`\`docket runs show ${id.slice(0, 8)}\` shows the result.`);
    },
    { decides: true },
  );
}

interface DelegateFlags {
  readonly to: string;
  readonly from?: string;
  readonly until?: string;
  readonly reason: string;
  readonly json?: boolean;
}

/** Names a deputy for an approver of a run, as the person of a token. */
export async function delegate(text: string, flags: DelegateFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const { to, from, until } = flags;
  const reason = parseReason(flags.reason);
  if (until !== undefined && !z.iso.date().safeParse(until).success)
    throw invalidOption('--until', until, 'the last day as YYYY-MM-DD');
  const context = await createContext(io);
  const principal = await signIn(context, io);
  await withDecisions(
    context,
    async ({ reviewService, runs }) => {
      const id = await requireRunId(text, runs);
      await assertSees(principal, id, runs);
      const view = await reviewsAccess({ reviewService, runs }, principal).delegate(id, { to, from, until, reason });
      if (flags.json) return print.printJson(reviewView(view));
      const { org, report, period } = view.record;
      const named = view.state.delegations.at(-1);
      print.printText(`${named?.to.name} may approve ${org}/${report} ${period.label} for ${named?.from.name}.`);
      print.printText(phaseSentence(view));
    },
    { decides: true },
  );
}

function assertContent(content: string | undefined): void {
  if (content === undefined || CONTENT.test(content)) return;
  throw new DocketError('usage.invalid', '--content is not a SHA-256.', {
    where: '--content',
    expected: '8 to 64 hex digits, as `docket runs show` prints them',
    got: content.slice(0, 80),
  });
}

/**
 * Shows the content to decide about, and asks for confirmation. Throws `usage.invalid` without a terminal,
 * `run.cancelled` if the answer is no.
 */
async function confirmContent(
  what: 'approve' | 'reject',
  id: string,
  view: ReviewView | null,
  now: number,
  io: CommandIo,
  json = false,
): Promise<string> {
  const content = view?.state.content ?? null;
  if (view === null || content === null) {
    throw new DocketError('run.conflict', `Run ${id} has nothing to ${what}.`, {
      expected: 'a run that waits for approval',
      next: `See \`docket runs show ${id}\`.`,
    });
  }
  if (json || io.stdin.isTTY !== true || !isTerminal(io.stderr, io.env)) {
    throw new DocketError('usage.invalid', `--content is missing: it says what exactly you ${what}.`, {
      where: '--content',
      expected: `the SHA-256 of the content that you have looked at; the current one begins with ${content.slice(0, 12)}`,
      next: `Look at it with \`docket runs get ${id.slice(0, 8)} --review\`, then repeat the command with --content.`,
    });
  }
  const print = createPrinter(io);
  const times = timesFor(io, now, { wide: false });
  for (const line of reviewLines(view, { wide: false, times })) print.printStatus(line);
  const { confirm, isCancel } = await import('@clack/prompts');
  const message = `${what === 'approve' ? 'Approve' : 'Reject'} content ${content.slice(0, 12)}?`;
  const answer = await confirm({ message, initialValue: false, input: io.stdin, output: io.stderr });
  if (answer === true) return content;
  if (isCancel(answer)) io.exitCode = 130;
  throw new DocketError('run.cancelled', 'Nothing was decided.', {
    next: `\`docket runs get ${id.slice(0, 8)} --review\` copies the files to look at.`,
  });
}
