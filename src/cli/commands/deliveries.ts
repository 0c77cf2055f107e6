import { deliveryView, receivedView } from '../../admin/api/schemas.ts';
import type { AppContext } from '../../base/context.ts';
import { DocketError } from '../../base/error.ts';
import { type DecisionContext, withDecisions } from '../../compose/decisions.ts';
import { nothingToDecideError, openStates } from '../../services/deliveries/decision-rules.ts';
import { createArchivedDeliveries } from '../../services/listings/archived-deliveries.ts';
import type { DeliveredContent } from '../../services/listings/delivered-content.ts';
import { listReceived, type ReceivedPage } from '../../services/listings/received.ts';
import { resolveDeliveryId } from '../../services/runs/resolve-id.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { type ActorFlags, readActor } from '../options/actor.ts';
import { assertOrgWithReport, parseNumber } from '../options/option-parsers.ts';
import { requireRunId } from '../options/run-id.ts';
import { type RunPartsFlags, readRunParts } from '../options/run-parts.ts';
import { timesFor } from '../terminal/local-times.ts';
import { type Column, createPrinter } from '../terminal/print.ts';
import { deliveryIdCells, instantCell, stateCell } from '../terminal/table/cell.ts';
import { deliveryCommands } from './delivery-commands.ts';
import { decideMany, hasFilter, type ManyFlags } from './runs/decide-many.ts';

interface ListFlags extends Omit<RunPartsFlags, 'error'> {
  readonly org?: string;
  readonly report?: string;
  readonly run?: string;
  readonly unknown?: boolean;
  readonly value?: string;
  readonly after?: string;
  readonly limit: string;
  readonly wide?: boolean;
  readonly json?: boolean;
}

interface ResolveFlags extends ActorFlags, ManyFlags {
  readonly run?: string;
  readonly value?: string;
  readonly sent?: boolean;
  readonly resend?: boolean;
}

/** @param single whether all deliveries are of the same report */
const buildColumns = (single: boolean): readonly Column[] => [
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
  if (flags.to !== undefined || flags.match !== undefined || flags.period !== undefined) {
    return listReceivedDeliveries(flags, limit, io);
  }
  if (flags.after !== undefined) {
    throw new DocketError('usage.invalid', 'The option requires --to, --match or --period.', {
      where: '--after',
      expected: 'one of these as well',
      next: 'See `docket deliveries --help`.',
    });
  }
  const context = await createContext(io);
  const rows = await withDecisions(context, async ({ decisions, runs }) =>
    decisions.list({
      orgs: flags.org === undefined ? '*' : [flags.org],
      ...(flags.report === undefined ? {} : { report: flags.report }),
      ...(flags.run === undefined ? {} : { run: await requireRunId(flags.run, runs) }),
      ...(flags.unknown ? { state: 'unknown' as const } : {}),
      value: flags.value,
      limit,
    }),
  );
  if (flags.json) return print.printJson({ deliveries: rows.map(deliveryView) });
  if (rows.length === 0) return print.printLine(flags.unknown ? 'No delivery needs a decision.' : 'No deliveries.');
  const { wide } = flags;
  const times = timesFor(io, context.clock.now(), { wide });
  const idCell = deliveryIdCells(rows.map(({ id }) => id));
  print.printTable(
    buildColumns(new Set(rows.map(({ org, report }) => `${org}/${report}`)).size === 1),
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

const receivedColumns = (single: boolean): readonly Column[] => [
  { name: 'CHANGED', whenNarrow: 'keep' },
  { name: 'STATE', whenNarrow: 'keep' },
  { name: 'REPORT', cut: 'report' },
  { name: 'PERIOD', whenNarrow: 'drop-last' },
  { name: 'RECIPIENT', cut: 'middle', ...(single ? { whenNarrow: 'drop', rank: 3 } : {}) },
  { name: 'CONTENTS', whenNarrow: 'drop', rank: 2 },
  // Can be dropped, because the next commands contain the ids that need a decision.
  { name: 'DELIVERY', whenNarrow: 'drop', rank: 4 },
  { name: 'ANSWER', whenNarrow: 'drop', rank: 1 },
];

/** Lists who got what. */
async function listReceivedDeliveries(flags: ListFlags, limit: number, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const { org, report, run, to, match, period, unknown, value, after, wide } = flags;
  if (run !== undefined || value !== undefined) {
    throw new DocketError('usage.invalid', '--run and --value cannot be combined with --to, --match or --period.', {
      expected: '--run and --value, or the others',
      next: '`docket deliveries --run` lists all deliveries of the run.',
    });
  }
  const context = await createContext(io);
  const orgs = org === undefined ? '*' : [org];
  const page = await withDecisions(context, async (opened) => {
    const { reports, begins } = await readRunParts({ match, period }, orgs, opened);
    const state = unknown ? ('unknown' as const) : undefined;
    const ports = { ...opened, archivedDeliveries: createArchivedDeliveries(opened) };
    return listReceived({ orgs, to, report, reports, begins, state, after, limit }, ports);
  });
  if (flags.json)
    return print.printJson({ deliveries: page.deliveries.map(receivedView), next: page.next, error: page.error });
  printReceived(page, wide, context, io);
}

/** Prints the deliveries of a page, and the commands to type next. */
export function printReceived(
  page: ReceivedPage,
  wide: boolean | undefined,
  { clock }: Pick<AppContext, 'clock'>,
  io: CommandIo,
): void {
  const print = createPrinter(io);
  if (page.deliveries.length === 0) print.printLine('No deliveries match.');
  else {
    const rows = page.deliveries.map(({ row }) => row);
    const times = timesFor(io, clock.now(), { wide });
    const idCell = deliveryIdCells(rows.map(({ id }) => id));
    print.printTable(
      receivedColumns(new Set(rows.map(({ recipient }) => recipient)).size === 1),
      page.deliveries.map(({ row, period: covered, content, archived }) => [
        instantCell(row.at, times),
        stateCell(row.state),
        `${row.org}/${row.report}`,
        covered.label,
        row.recipient,
        archived ? 'archived' : contentText(content),
        idCell(row.id),
        row.detail ?? '',
      ]),
      { wide },
    );
    const recorded = page.deliveries.flatMap(({ row, archived }) => (archived ? [] : [row]));
    print.printNext(deliveryCommands(recorded, (id) => idCell(id).brief));
  }
  if (page.error !== undefined) print.printStatus(`The archive was not read completely: ${page.error.message}`);
  if (page.next !== null) print.printStatus(`There are more: --after ${page.next}`);
}

/** `e-mail: xlsx, pdf`. */
function contentText(content: DeliveredContent | null): string {
  if (content === null) return '';
  if (content.kind === 'notice') return 'notice';
  const kind = content.kind === 'mail' ? 'e-mail' : 'files';
  return content.formats.length === 0 ? kind : `${kind}: ${content.formats.join(', ')}`;
}

export async function resolve(texts: readonly string[], flags: ResolveFlags, io: CommandIo): Promise<void> {
  const [text, ...others] = texts;
  const print = createPrinter(io);
  if (Boolean(flags.sent) === Boolean(flags.resend)) {
    throw new DocketError('usage.invalid', 'Give exactly one of --sent and --resend.', {
      expected: 'either --sent or --resend',
      got: flags.sent ? 'both' : 'neither',
      next: 'See `docket deliveries resolve --help`.',
    });
  }
  if (flags.run === undefined && (others.length > 0 || hasFilter(flags) || flags.confirm !== undefined)) {
    const [action, option] = flags.sent ? (['sent', '--sent'] as const) : (['resend', '--resend'] as const);
    const resolveIds = (opened: DecisionContext) => Promise.all(texts.map((each) => requireDeliveryId(each, opened)));
    return decideMany(action, resolveIds, flags, { command: `deliveries resolve ${option}`, io });
  }
  if (flags.run === undefined && flags.value !== undefined) {
    throw new DocketError('usage.invalid', 'The option requires --run.', {
      where: '--value',
      expected: '--run as well',
      next: 'Name the run whose pack is meant.',
    });
  }
  if ((text === undefined) === (flags.run === undefined) || hasFilter(flags) || flags.confirm !== undefined) {
    throw new DocketError('usage.invalid', 'Give either deliveries, filters or --run.', {
      expected: 'ids of deliveries, filters such as --report, or --run for all uncertain ones of a run',
      got: text === undefined && flags.run === undefined ? 'none of them' : 'more than one of them',
      next: 'See `docket deliveries resolve --help`.',
    });
  }
  if (text === undefined) return resolveRun(flags.run ?? '', flags, io);
  const actor = readActor(flags);
  const context = await createContext(io);
  await withDecisions(
    context,
    async ({ decisions, runs }) => {
      const id = await requireDeliveryId(text, { runs, decisions });
      const row = await decisions.resolve(id, flags.sent ? 'sent' : 'resend', actor);
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

async function requireDeliveryId(
  text: string,
  { runs, decisions }: Pick<DecisionContext, 'runs' | 'decisions'>,
): Promise<string> {
  const id = await resolveDeliveryId(text, { runs, deliveries: decisions }, '*');
  if (id !== undefined) return id;
  throw new DocketError('delivery.not_found', `There is no delivery ${JSON.stringify(text.slice(0, 80))}.`, {
    expected: 'the id of a delivery, or enough of its first digits',
    next: '`docket deliveries` lists the deliveries of recent runs.',
  });
}

/** Decides about all deliveries of a run with an unknown result. */
async function resolveRun(run: string, flags: ResolveFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const actor = readActor(flags);
  const context = await createContext(io);
  await withDecisions(
    context,
    async ({ decisions, runs }) => {
      const id = await requireRunId(run, runs);
      const as = flags.sent ? 'sent' : 'resend';
      const { value } = flags;
      const open = openStates(as);
      const own = value === undefined ? [] : await decisions.list({ orgs: '*', run: id, value, limit: 1 });
      const ids = own.flatMap((row) => (open.includes(row.state) ? row.id : []));
      if (value !== undefined && ids.length === 0) throw nothingToDecideError(id);
      const rows = await decisions.resolveMany(id, value === undefined ? 'all' : ids, as, actor);
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
