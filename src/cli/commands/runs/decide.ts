import { DocketError } from '../../../base/error.ts';
import { type DecisionContext, withDecisions } from '../../../compose/decisions.ts';
import { isReportDelivery, type RunAction } from '../../../services/deliveries/decision-rules.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { type ActorFlags, readActor } from '../../options/actor.ts';
import { requireRunId } from '../../options/run-id.ts';
import { createPrinter } from '../../terminal/print.ts';
import { decideMany, hasFilter, type ManyFlags } from './decide-many.ts';

/** Cancels, retries or releases one run. For several runs, or all that match a filter, shows a preview first. */
export async function decide(
  what: RunAction,
  texts: readonly string[],
  flags: ActorFlags & ManyFlags,
  io: CommandIo,
): Promise<void> {
  const [text, ...others] = texts;
  if (text === undefined || others.length > 0 || hasFilter(flags) || flags.confirm !== undefined) {
    if (text === undefined && !hasFilter(flags) && flags.confirm === undefined) throw nothingNamedError(what);
    const resolveIds = ({ runs }: DecisionContext) => Promise.all(texts.map((each) => requireRunId(each, runs)));
    return decideMany(what, resolveIds, flags, { command: `runs ${what}`, io });
  }
  const print = createPrinter(io);
  const actor = readActor(flags);
  const context = await createContext(io);
  await withDecisions(
    context,
    async ({ decisions, runs }) => {
      const id = await requireRunId(text, runs);
      const record = await decisions[what](id, actor);
      if (flags.json) return print.printJson(record);
      const run = `The run of ${record.org}/${record.report} ${record.period.label}`;
      if (what === 'cancel') {
        const steps = `stops before its next step; \`docket runs show ${id}\` shows when.`;
        return print.printText(`${run} ${record.state === 'cancelled' ? 'is cancelled.' : steps}`);
      }
      if (what === 'retry' && (record.state === 'waiting' || record.state === 'running')) {
        return print.printText(`${run} continues now; \`docket runs show ${id}\` shows the result.`);
      }
      const { deliveries } = await decisions.page({ orgs: '*', run: id, limit: 1 });
      print.printText(`${run} is queued again; \`docket runs show ${id}\` shows the result.`);
      for (const line of formatDeliveryCounts(id, deliveries.filter(isReportDelivery))) print.printText(line);
    },
    { decides: what !== 'cancel' },
  );
}

const nothingNamedError = (what: string): DocketError =>
  new DocketError('usage.invalid', 'No run is named.', {
    expected: 'the ids of runs, or filters such as --org, --report and --state',
    got: 'neither',
    next: `See \`docket runs ${what} --help\`.`,
  });

/** The number of deliveries that are being sent, and of those that need a decision. */
function formatDeliveryCounts(run: string, rows: readonly Pick<DeliveryRow, 'state'>[]): string[] {
  const countDeliveries = (state: DeliveryRow['state']) => rows.filter((row) => row.state === state).length;
  const format = (count: number) => `${count} ${count === 1 ? 'delivery' : 'deliveries'}`;
  const [pending, unknown] = [countDeliveries('pending'), countDeliveries('unknown')];
  return [
    ...(pending === 0 ? [] : [`${format(pending)} queued.`]),
    ...(unknown === 0
      ? []
      : [
          `${format(unknown)} may have arrived and stay${unknown === 1 ? 's' : ''} unknown; decide with \`docket deliveries resolve\` (\`docket deliveries --run ${run}\`).`,
        ]),
  ];
}
