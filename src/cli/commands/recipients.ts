import { recipientLine } from '../../admin/access/deliveries.ts';
import { addedView } from '../../admin/api/recipients.ts';
import { canSee } from '../../admin/auth/tokens.ts';
import type { AppContext } from '../../base/context.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import { loadDefinitions } from '../../compose/built-in-kinds.ts';
import { type DecisionContext, withDecisions } from '../../compose/decisions.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { runNotFoundError } from '../../run/run-record.ts';
import type { RecipientService } from '../../services/deliveries/recipients.ts';
import type { Reviewer } from '../../services/reviews/review-service.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { parseReason, readActorName } from '../options/actor.ts';
import { requireRunId } from '../options/run-id.ts';
import { assertSees, signedInOperator, signIn } from '../options/sign-in.ts';
import { createPrinter } from '../terminal/print.ts';

interface SendFlags {
  readonly to: string;
  readonly replaces?: string;
  readonly target?: string;
  readonly reason: string;
  readonly json?: boolean;
}

interface DecideFlags {
  readonly reason: string;
  readonly json?: boolean;
}

/** The allow-list on this machine, if there is one. The sending worker checks its own. */
const loadedDefinitions = ({ config }: AppContext): Promise<Definitions | undefined> =>
  loadDefinitions(config.DOCKET_JOBS).catch((thrown: unknown) => {
    if (toDocketError(thrown).code === 'config.invalid') return undefined;
    throw thrown;
  });

async function withRecipients(
  context: AppContext,
  use: (recipients: RecipientService, opened: DecisionContext, jobs: Definitions | undefined) => Promise<void>,
): Promise<void> {
  const jobs = await loadedDefinitions(context);
  const orgs = () => jobs?.orgs ?? new Map();
  await withDecisions(context, (opened) => use(opened.recipients, opened, jobs), { decides: true, orgs });
}

/** Sends the files of a run to an additional address, as the person of a token or as the user of the shell. */
export async function send(text: string, flags: SendFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const reason = parseReason(flags.reason);
  const context = await createContext(io);
  const principal = await signedInOperator(context, io);
  const shell = readActorName();
  const author: Reviewer = principal ?? { name: shell, kind: 'shell', subject: `shell:${shell}` };
  await withRecipients(context, async (recipients, { runs }, jobs) => {
    const run = await requireRunId(text, runs);
    if (principal !== undefined) await assertSees(principal, run, runs);
    const { to, replaces, target } = flags;
    const request = { to, replaces, target };
    const added = await recipients.send(run, request, reason, author);
    const { record, delivery, waits, need } = added;
    const line = recipientLine(jobs?.sources.get(`${record.org}/${record.report}`), request, delivery.target) ?? null;
    if (flags.json) return print.printJson(addedView(added, line));
    const name = `${record.org}/${record.report} ${record.period.label}`;
    print.printText(
      waits === null
        ? `${name} is queued to be sent to ${delivery.recipient}. \`docket deliveries --run ${run.slice(0, 8)}\` shows the result.`
        : `${name} waits for ${need === 1 ? 'an approval' : `${need} approvals`} before it is sent to ${delivery.recipient}: \`docket deliveries approve ${delivery.id} --reason …\`.`,
    );
    if (line !== null) print.printText(`Later runs use the definition. Fix it at ${line.at}: ${line.text}`);
  });
}

/** Approves or rejects a recipient that was added to an approved run, as the person of a token. */
export async function decide(admitted: boolean, delivery: string, flags: DecideFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const reason = parseReason(flags.reason);
  if (!/^[0-9a-f]{32}$/.test(delivery)) {
    throw new DocketError('usage.invalid', 'The id of the delivery is not complete.', {
      expected: '32 hex digits, as `docket deliveries send` prints them',
      got: delivery.slice(0, 80),
    });
  }
  const context = await createContext(io);
  const principal = await signIn(context, io);
  await withRecipients(context, async (recipients, { runs }) => {
    // The id of a delivery starts with the first half of its run's id.
    const run = await requireRunId(delivery.slice(0, 16), runs);
    const record = await runs.get(run);
    if (record === undefined || !canSee(principal, record.org)) throw runNotFoundError(run);
    const decided = await recipients.decide(run, delivery, admitted, reason, principal);
    if (flags.json) return print.printJson(addedView(decided));
    const { recipient } = decided.delivery;
    print.printText(
      !admitted
        ? `Rejected: nothing is sent to ${recipient}.`
        : decided.waits === null
          ? `Approved: the files are queued to be sent to ${recipient}.`
          : `Approved. ${recipient} needs ${decided.need - decided.waits.approvals.length} more.`,
    );
  });
}
