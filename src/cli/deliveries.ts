import type { Command } from 'commander';
import type { Column } from './columns.ts';
import { type DeciderFlags, decides, readDecider } from './decider.ts';

interface ListFlags {
  readonly org?: string;
  readonly report?: string;
  readonly run?: string;
  readonly unknown?: boolean;
  readonly limit: string;
  readonly json?: boolean;
}

interface ResolveFlags extends DeciderFlags {
  readonly sent?: boolean;
  readonly resend?: boolean;
  readonly json?: boolean;
}

export function addDeliveries(program: Command): void {
  const deliveries = program
    .command('deliveries')
    .description('List what was delivered to whom; decide of deliveries that may have arrived');
  deliveries
    .command('list', { isDefault: true })
    .description('List the deliveries of recent runs, of one run, or all that wait for a decision')
    .option('--org <org>', 'only of this organization')
    .option('--report <report>', 'only of this report, with --org')
    .option('--run <id>', 'only of this run: its id, or the first 8 digits or more')
    .option('--unknown', 'only those that may have arrived and may not have, of all runs')
    .option('--limit <n>', 'look through so many runs, newest first; with --unknown, list so many', '20')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Environment: REDIS_URL, LOG_LEVEL

Examples:
  docket deliveries --unknown
  docket deliveries --org acme --report weekly-kpi`,
    )
    .action(list);
  decides(
    deliveries
      .command('resolve')
      .description('Decide of a delivery that may have arrived, or was refused')
      .argument('<id>', 'the delivery as `docket deliveries` names it, or the first digits of its id')
      .option('--sent', 'it has arrived: unknown becomes sent')
      .option('--resend', 'send it again, with the same Message-ID, and nothing else of its run')
      .option('--json', 'one JSON document on stdout'),
  )
    .addHelpText(
      'after',
      `
Who decided and why stay in the ledger, in the archive and in the log. A worker that runs sends what is to be sent again.

Environment: REDIS_URL, DOCKET_ARCHIVE, DOCKET_SIGNING_KEY, LOG_LEVEL

Examples:
  docket deliveries resolve 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --sent --reason "she has it, asked by phone"
  docket deliveries resolve 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --resend --reason "not in her mailbox"`,
    )
    .action(resolve);
}

const COLUMNS: readonly Column[] = [
  { name: 'CHANGED', narrow: 'whole' },
  { name: 'STATE' },
  { name: 'REPORT' },
  { name: 'TARGET', narrow: 'spare' },
  { name: 'RECIPIENT' },
  { name: 'DELIVERY', narrow: 'whole' },
  { name: 'DETAIL', narrow: 'spare' },
];

async function list(flags: ListFlags): Promise<void> {
  const [
    { readSurroundings },
    { openDesk },
    { readNumber, requireOrgWithReport },
    { deliveryView },
    { runIdOf },
    print,
  ] = await Promise.all([
    import('./surroundings.ts'),
    import('../compose/decisions.ts'),
    import('./flag.ts'),
    import('../admin/view.ts'),
    import('./run-id.ts'),
    import('./print.ts'),
  ]);
  const limit = readNumber('--limit', flags.limit, { min: 1, max: 1000 });
  requireOrgWithReport(flags);
  const { decisions, runs, scope } = await openDesk(readSurroundings());
  try {
    const rows = await decisions.list({
      orgs: flags.org === undefined ? '*' : [flags.org],
      ...(flags.report === undefined ? {} : { report: flags.report }),
      ...(flags.run === undefined ? {} : { run: await runIdOf(flags.run, runs) }),
      ...(flags.unknown ? { state: 'unknown' as const } : {}),
      limit,
    });
    if (flags.json) return print.printJson({ deliveries: rows.map(deliveryView) });
    if (rows.length === 0) {
      return print.printLine(flags.unknown ? 'No delivery waits for a decision.' : 'No delivery is on record.');
    }
    print.printLine(
      print.formatColumns(
        COLUMNS,
        rows.map((row) => [
          print.formatInstant(row.at),
          row.state,
          `${row.org}/${row.report}`,
          row.target,
          row.recipient,
          row.id,
          row.detail ?? '',
        ]),
      ),
    );
  } finally {
    await scope.close();
  }
}

async function resolve(text: string, flags: ResolveFlags): Promise<void> {
  const [
    { DocketError },
    { readSurroundings },
    { openDesk },
    { resolveDeliveryId },
    { openAudit },
    { deliveryView },
    print,
  ] = await Promise.all([
    import('../base/error.ts'),
    import('./surroundings.ts'),
    import('../compose/decisions.ts'),
    import('../queue/short-id.ts'),
    import('./audit.ts'),
    import('../admin/view.ts'),
    import('./print.ts'),
  ]);
  if (Boolean(flags.sent) === Boolean(flags.resend)) {
    throw new DocketError('usage.invalid', 'What is decided must be said, once.', {
      expected: 'either --sent or --resend',
      got: flags.sent ? 'both' : 'neither',
      next: 'See `docket deliveries resolve --help`.',
    });
  }
  const who = await readDecider(flags);
  const around = readSurroundings();
  const { decisions, runs, redis, scope } = await openDesk(around, { decides: true });
  try {
    const id = await resolveDeliveryId(text, { runs, deliveries: decisions }, '*');
    if (id === undefined) {
      throw new DocketError('delivery.not_found', `There is no delivery ${JSON.stringify(text.slice(0, 80))}.`, {
        expected: 'the id of a delivery, or enough of its first digits',
        next: '`docket deliveries` lists those of recent runs.',
      });
    }
    const row = await decisions.resolve(id, flags.sent ? 'sent' : 'resend', who);
    const { run, org, report } = row;
    const why = `${flags.sent ? 'declared sent' : 'to be sent again'}: ${who.reason}`;
    const entry = { event: 'delivery.resolved', who: who.by, delivery: id, run, org, report, why } as const;
    await (await openAudit(redis, around)).tell(entry);
    if (flags.json) return print.printJson(deliveryView(row));
    const whom = `${row.recipient} (${org}/${report})`;
    print.printLine(
      row.state === 'sent'
        ? `The delivery to ${whom} is recorded as sent; nothing leaves.`
        : `The delivery to ${whom} is queued to be sent again; the next free worker sends it. \`docket deliveries --run ${run}\` tells what became of it.`,
    );
  } finally {
    await scope.close();
  }
}
