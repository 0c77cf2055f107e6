import type { Command } from 'commander';
import type { CommandIo } from '../io.ts';
import { type ActorFlags, addActorOptions, readActor } from '../options/actor.ts';
import { createPrinter, formatInstant } from '../terminal/print.ts';
import type { Column } from '../terminal/table.ts';

interface ListFlags {
  readonly org?: string;
  readonly report?: string;
  readonly run?: string;
  readonly unknown?: boolean;
  readonly limit: string;
  readonly json?: boolean;
}

interface ResolveFlags extends ActorFlags {
  readonly sent?: boolean;
  readonly resend?: boolean;
  readonly json?: boolean;
}

export function addDeliveriesCommand(program: Command, io: CommandIo): void {
  const deliveries = program.command('deliveries').description('List deliveries; resolve uncertain ones');
  deliveries
    .command('list', { isDefault: true })
    .description('List the deliveries of recent runs, of one run, or all that need a decision')
    .option('--org <org>', 'only of this organization')
    .option('--report <report>', 'only of this report, with --org')
    .option('--run <id>', 'only of this run: its id, or the first 8 digits or more')
    .option('--unknown', 'only those that may or may not have arrived, of all runs')
    .option('--limit <n>', 'number of runs, newest first; with --unknown, number of deliveries', '20')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Environment: REDIS_URL, LOG_LEVEL

Examples:
  docket deliveries --unknown
  docket deliveries --org acme --report weekly-kpi`,
    )
    .action((flags: ListFlags) => list(flags, io));
  addActorOptions(
    deliveries
      .command('resolve')
      .description('Resolve a delivery that may have arrived, or was refused')
      .argument('<id>', 'id of the delivery (see `docket deliveries`), or its first digits')
      .option('--sent', 'it has arrived: mark it as sent')
      .option('--resend', 'send it again, with the same Message-ID; nothing else of its run is sent')
      .option('--json', 'one JSON document on stdout'),
  )
    .addHelpText(
      'after',
      `
The decision, its author and reason are stored in the ledger, the archive and the audit log. A worker does the sending.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Examples:
  docket deliveries resolve 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --sent --reason "she has it, asked by phone"
  docket deliveries resolve 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --resend --reason "not in her mailbox"`,
    )
    .action((text: string, flags: ResolveFlags) => resolve(text, flags, io));
}

const COLUMNS: readonly Column[] = [
  { name: 'CHANGED', whenNarrow: 'keep' },
  { name: 'STATE' },
  { name: 'REPORT' },
  { name: 'TARGET', whenNarrow: 'drop' },
  { name: 'RECIPIENT' },
  { name: 'DELIVERY', whenNarrow: 'keep' },
  { name: 'DETAIL', whenNarrow: 'drop' },
];

async function list(flags: ListFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [
    { createContext },
    { withDecisions },
    { parseNumber, assertOrgWithReport },
    { deliveryView },
    { requireRunId },
  ] = await Promise.all([
    import('../context.ts'),
    import('../decisions.ts'),
    import('../options/option-parsers.ts'),
    import('../../admin/api/schemas.ts'),
    import('../options/run-id.ts'),
  ]);
  const limit = parseNumber('--limit', flags.limit, { min: 1, max: 1000 });
  assertOrgWithReport(flags);
  const rows = await withDecisions(createContext(io), async ({ decisions, runs }) =>
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
  print.printTable(
    COLUMNS,
    rows.map(({ at, state, org, report, target, recipient, id, detail }) => [
      formatInstant(at),
      state,
      `${org}/${report}`,
      target,
      recipient,
      id,
      detail ?? '',
    ]),
  );
}

async function resolve(text: string, flags: ResolveFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [
    { DocketError },
    { createContext },
    { withDecisions },
    { resolveDeliveryId },
    { resolveDelivery },
    { openAuditLog },
    { deliveryView },
  ] = await Promise.all([
    import('../../base/error.ts'),
    import('../context.ts'),
    import('../decisions.ts'),
    import('../../services/runs/resolve-id.ts'),
    import('../../services/deliveries/audited-decisions.ts'),
    import('../audit-log.ts'),
    import('../../admin/api/schemas.ts'),
  ]);
  if (Boolean(flags.sent) === Boolean(flags.resend)) {
    throw new DocketError('usage.invalid', 'Give exactly one of --sent and --resend.', {
      expected: 'either --sent or --resend',
      got: flags.sent ? 'both' : 'neither',
      next: 'See `docket deliveries resolve --help`.',
    });
  }
  const actor = await readActor(flags);
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
      print.printLine(
        row.state === 'sent'
          ? `${subject} is recorded as sent; nothing is sent.`
          : `${subject} is queued to be sent again by the next free worker. \`docket deliveries --run ${run}\` shows the result.`,
      );
    },
    { decides: true },
  );
}
