import { isReportDelivery } from '../../services/deliveries/decision-rules.ts';
import type { DeliveryRow } from '../../services/deliveries/decisions.ts';
import type { NextCommand } from '../terminal/next-commands.ts';
import { cutMiddle } from '../terminal/table/cell-width.ts';

const RUN_DIGITS = 8;
/** Maximum width of a recipient in a comment, in cells. */
const MAX_RECIPIENT = 40;

/** Commands for deliveries that are unknown or refused. None for other deliveries, nor for notices to owners. */
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

/**
 * The commands to decide about the first uncertain delivery of a run, or about all of them. To send again, each has its
 * own command.
 */
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
  const who = ofRun.length === 1 ? `${cutMiddle(first.recipient, MAX_RECIPIENT)} has it` : 'all recipients have it';
  return [
    ...(ofRun.length === 1
      ? []
      : [{ command: `docket deliveries --run ${run}`, why: 'lists the deliveries, to decide one by one' }]),
    { command: `docket deliveries resolve ${what} --sent --reason "…"`, why: `if ${who}: sends nothing` },
    {
      command: `docket deliveries resolve ${shortId(first.id)} --resend --reason "…"`,
      why: ofRun.length === 1 ? 'if not: sends the same message again' : 'sends one again, e.g. this one',
    },
  ];
}
