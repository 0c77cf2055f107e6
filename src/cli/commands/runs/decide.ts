import { withDecisions } from '../../../compose/decisions.ts';
import { isReportDelivery, type RunAction } from '../../../services/deliveries/decision-rules.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { type ActorFlags, readActor } from '../../options/actor.ts';
import { requireRunId } from '../../options/run-id.ts';
import { createPrinter } from '../../terminal/print.ts';

/** Cancels a run, or retries or releases one that has ended. */
export async function decide(
  what: RunAction,
  text: string,
  flags: ActorFlags & { readonly json?: boolean },
  io: CommandIo,
): Promise<void> {
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

/** The number of deliveries that are sent now, and of those that need a decision. */
function formatDeliveryCounts(run: string, rows: readonly Pick<DeliveryRow, 'state'>[]): string[] {
  const countOf = (state: DeliveryRow['state']) => rows.filter((row) => row.state === state).length;
  const format = (count: number) => `${count} ${count === 1 ? 'delivery' : 'deliveries'}`;
  const [pending, unknown] = [countOf('pending'), countOf('unknown')];
  return [
    ...(pending === 0 ? [] : [`${format(pending)} queued.`]),
    ...(unknown === 0
      ? []
      : [
          `${format(unknown)} may have arrived and stay${unknown === 1 ? 's' : ''} unknown; decide with \`docket deliveries resolve\` (\`docket deliveries --run ${run}\`).`,
        ]),
  ];
}
