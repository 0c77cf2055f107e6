import { isReportDelivery } from '../../services/deliveries/decision-rules.ts';
import type { DeliveryRow } from '../../services/deliveries/decisions.ts';
import type { NextCommand } from '../terminal/next-commands.ts';
import { cutMiddle } from '../terminal/table/cell-width.ts';

const RUN_DIGITS = 8;
/** Cells, of a comment. */
const MAX_RECIPIENT = 40;

/** What a person can do about deliveries that are unknown or refused. Nothing for the others, and for notices to owners. */
export function deliveryCommands(
  rows: readonly DeliveryRow[],
  shortId: (delivery: string) => string,
): readonly NextCommand[] {
  const deliveries = rows.filter(isReportDelivery);
  const refused = deliveries.find(({ state }) => state === 'refused');
  return [
    ...resolveCommands(deliveries, shortId),
    ...(refused === undefined
      ? []
      : [
          {
            command: `docket runs show ${refused.run.slice(0, RUN_DIGITS)}`,
            why: `${cutMiddle(refused.recipient, MAX_RECIPIENT)} refused it: why, and what to do`,
          },
        ]),
  ];
}

/** How the first uncertain delivery is decided, or all of its run. Each is sent again by itself. */
export function resolveCommands(
  rows: readonly DeliveryRow[],
  shortId: (delivery: string) => string,
): readonly NextCommand[] {
  const unknown = rows.filter(({ state }) => state === 'unknown');
  const [first] = unknown;
  if (first === undefined) return [];
  const ofRun = unknown.filter(({ run }) => run === first.run);
  const run = first.run.slice(0, RUN_DIGITS);
  const what = ofRun.length === 1 ? shortId(first.id) : `--run ${run}`;
  const who =
    ofRun.length === 1 ? `${cutMiddle(first.recipient, MAX_RECIPIENT)} has it` : 'everybody of this run has it';
  return [
    ...(ofRun.length === 1
      ? []
      : [{ command: `docket deliveries --run ${run}`, why: 'the deliveries, to decide one by one' }]),
    { command: `docket deliveries resolve ${what} --sent --reason "…"`, why: `if ${who}: nothing is sent` },
    {
      command: `docket deliveries resolve ${shortId(first.id)} --resend --reason "…"`,
      why: ofRun.length === 1 ? 'if not: sends the same message again' : 'sends one again, e.g. this one',
    },
  ];
}
