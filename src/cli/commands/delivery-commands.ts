import { isReportDelivery } from '../../services/deliveries/decision-rules.ts';
import type { DeliveryRow } from '../../services/deliveries/decisions.ts';
import type { NextCommand } from '../terminal/next-commands.ts';

const RUN_DIGITS = 8;
/** Runs that are named. */
const MAX_RUNS = 3;

/** What a person can do about deliveries that did not surely arrive. Nothing for the others, and for notices to owners. */
export function deliveryCommands(
  rows: readonly DeliveryRow[],
  shortId: (delivery: string) => string,
): readonly NextCommand[] {
  const deliveries = rows.filter(isReportDelivery);
  const unknown = deliveries.filter(({ state }) => state === 'unknown');
  const refused = deliveries.find(({ state }) => state === 'refused');
  const [first] = unknown;
  const all = [...new Set(unknown.map(({ run }) => run))].filter(
    (run) => unknown.filter((row) => row.run === run).length > 1,
  );
  return [
    ...(first === undefined ? [] : resolveCommands(first, shortId)),
    ...all.slice(0, MAX_RUNS).map((run) => ({
      command: `docket deliveries resolve --run ${run.slice(0, RUN_DIGITS)} --sent --reason "…"`,
      why: `all ${unknown.filter((row) => row.run === run).length} of a run; --resend to send them once more`,
    })),
    ...(refused === undefined
      ? []
      : [
          {
            command: `docket runs show ${refused.run.slice(0, RUN_DIGITS)}`,
            why: `${refused.recipient} refused it: why, and what to do`,
          },
        ]),
  ];
}

const resolveCommands = ({ id, recipient }: DeliveryRow, shortId: (delivery: string) => string): NextCommand[] => [
  {
    command: `docket deliveries resolve ${shortId(id)} --sent --reason "…"`,
    why: `if ${recipient} has it: nothing is sent`,
  },
  {
    command: `docket deliveries resolve ${shortId(id)} --resend --reason "…"`,
    why: 'if not: it is sent once more',
  },
];
