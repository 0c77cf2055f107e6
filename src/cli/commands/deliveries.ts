import { deliveryView } from '../../admin/api/schemas.ts';
import { DocketError } from '../../base/error.ts';
import { withDecisions } from '../../compose/decisions.ts';
import { resolveDeliveries, resolveDelivery } from '../../services/deliveries/audited-decisions.ts';
import { resolveDeliveryId } from '../../services/runs/resolve-id.ts';
import { openAuditLog } from '../audit-log.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { type ActorFlags, readActor } from '../options/actor.ts';
import { assertOrgWithReport, parseNumber } from '../options/option-parsers.ts';
import { requireRunId } from '../options/run-id.ts';
import { timesFor } from '../terminal/local-times.ts';
import { type Column, createPrinter } from '../terminal/print.ts';
import { idCells, instantCell, stateCell } from '../terminal/table/cell.ts';
import { deliveryCommands } from './delivery-commands.ts';

interface ListFlags {
  readonly org?: string;
  readonly report?: string;
  readonly run?: string;
  readonly unknown?: boolean;
  readonly limit: string;
  readonly wide?: boolean;
  readonly json?: boolean;
}

interface ResolveFlags extends ActorFlags {
  readonly run?: string;
  readonly sent?: boolean;
  readonly resend?: boolean;
  readonly json?: boolean;
}

/** @param single whether all are of one report */
const columnsOf = (single: boolean): readonly Column[] => [
  { name: 'CHANGED', whenNarrow: 'keep' },
  { name: 'STATE', whenNarrow: 'keep' },
  { name: 'REPORT', cut: 'report', ...(single ? { whenNarrow: 'drop' } : {}) },
  { name: 'TARGET', whenNarrow: 'drop', rank: 2 },
  { name: 'RECIPIENT', cut: 'middle' },
  { name: 'DELIVERY', whenNarrow: 'keep' },
  { name: 'DETAIL', whenNarrow: 'drop', rank: 1 },
];

export async function list(flags: ListFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const limit = parseNumber('--limit', flags.limit, { min: 1, max: 1000 });
  assertOrgWithReport(flags);
  const context = createContext(io);
  const rows = await withDecisions(context, async ({ decisions, runs }) =>
    decisions.list({
      orgs: flags.org === undefined ? '*' : [flags.org],
      ...(flags.report === undefined ? {} : { report: flags.report }),
      ...(flags.run === undefined ? {} : { run: await requireRunId(flags.run, runs) }),
      ...(flags.unknown ? { state: 'unknown' as const } : {}),
      limit,
    }),
  );
  if (flags.json) return print.printJson({ deliveries: rows.map(deliveryView) });
  if (rows.length === 0) return print.printLine(flags.unknown ? 'No delivery needs a decision.' : 'No deliveries.');
  const { wide } = flags;
  const times = timesFor(io, context.clock.now(), { wide });
  const idCell = idCells(rows.map(({ id }) => id));
  print.printTable(
    columnsOf(new Set(rows.map(({ org, report }) => `${org}/${report}`)).size === 1),
    rows.map(({ at, state, org, report, target, recipient, id, detail }) => [
      instantCell(at, times),
      stateCell(state),
      `${org}/${report}`,
      target,
      recipient,
      idCell(id),
      detail ?? '',
    ]),
    { wide },
  );
  print.printNext(deliveryCommands(rows, (id) => idCell(id).brief));
}

export async function resolve(text: string | undefined, flags: ResolveFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  if (Boolean(flags.sent) === Boolean(flags.resend)) {
    throw new DocketError('usage.invalid', 'Give exactly one of --sent and --resend.', {
      expected: 'either --sent or --resend',
      got: flags.sent ? 'both' : 'neither',
      next: 'See `docket deliveries resolve --help`.',
    });
  }
  if ((text === undefined) === (flags.run === undefined)) {
    throw new DocketError('usage.invalid', 'Give either a delivery or --run.', {
      expected: 'the id of one delivery, or --run for all uncertain ones of a run',
      got: text === undefined ? 'neither' : 'both',
      next: 'See `docket deliveries resolve --help`.',
    });
  }
  if (text === undefined) return resolveRun(flags.run ?? '', flags, io);
  const actor = readActor(flags);
  const context = createContext(io);
  await withDecisions(
    context,
    async ({ decisions, runs, redis }) => {
      const id = await resolveDeliveryId(text, { runs, deliveries: decisions }, '*');
      if (id === undefined) {
        throw new DocketError('delivery.not_found', `There is no delivery ${JSON.stringify(text.slice(0, 80))}.`, {
          expected: 'the id of a delivery, or enough of its first digits',
          next: '`docket deliveries` lists the deliveries of recent runs.',
        });
      }
      const audit = openAuditLog(redis, context);
      const row = await resolveDelivery(id, flags.sent ? 'sent' : 'resend', actor, { decisions, audit });
      const { run, org, report } = row;
      if (flags.json) return print.printJson(deliveryView(row));
      const subject = `The delivery to ${row.recipient} (${org}/${report})`;
      print.printText(
        row.state === 'sent'
          ? `${subject} is recorded as sent; nothing is sent.`
          : `${subject} is queued to be sent again by the next free worker. \`docket deliveries --run ${run}\` shows the result.`,
      );
    },
    { decides: true },
  );
}

/** All deliveries of a run whose result is unknown. */
async function resolveRun(run: string, flags: ResolveFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const actor = readActor(flags);
  const context = createContext(io);
  await withDecisions(
    context,
    async ({ decisions, runs, redis }) => {
      const id = await requireRunId(run, runs);
      const audit = openAuditLog(redis, context);
      const rows = await resolveDeliveries(id, 'all', flags.sent ? 'sent' : 'resend', actor, { decisions, audit });
      if (flags.json) return print.printJson({ deliveries: rows.map(deliveryView) });
      const subject = rows.length === 1 ? '1 delivery is' : `${rows.length} deliveries are`;
      print.printLine(
        flags.sent
          ? `${subject} recorded as sent; nothing is sent.`
          : `${subject} queued to be sent again by the next free worker. \`docket deliveries --run ${id.slice(0, 8)}\` shows the result.`,
      );
    },
    { decides: true },
  );
}
