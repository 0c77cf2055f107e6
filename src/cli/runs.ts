import type { Command } from 'commander';

interface RunsFlags {
  readonly org?: string;
  readonly report?: string;
  readonly limit: string;
  readonly json?: boolean;
}

export function addRuns(program: Command): void {
  program
    .command('runs')
    .description('List the runs that the worker keeps a record of, newest first; or show one')
    .argument('[id]', 'the run to show')
    .option('--org <org>', 'only of this organization')
    .option('--report <report>', 'only of this report, with --org')
    .option('--limit <n>', 'at most so many', '20')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      '\nExamples:\n  docket runs --org acme\n  docket runs 2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e --json',
    )
    .action(runs);
}

async function runs(id: string | undefined, flags: RunsFlags): Promise<void> {
  const [
    { DocketError },
    { readSurroundings },
    { openRedis },
    { DEFAULT_PREFIX },
    { redisRunStore },
    { KEEP_DAYS },
    { readNumber },
    print,
  ] = await Promise.all([
    import('../base/error.ts'),
    import('./surroundings.ts'),
    import('../queue/connection.ts'),
    import('../queue/keys.ts'),
    import('../queue/run-store.ts'),
    import('../compose/worker.ts'),
    import('./flag.ts'),
    import('./print.ts'),
  ]);
  const limit = readNumber('--limit', flags.limit, { min: 1, max: 1000 });
  if (flags.report !== undefined && flags.org === undefined) {
    throw new DocketError('usage.invalid', 'A report is named without its organization.', {
      where: '--report',
      expected: '--org as well',
      next: `Add --org, e.g. --org acme --report ${flags.report}.`,
    });
  }
  const { config, log } = readSurroundings();
  const redis = await openRedis(config.REDIS_URL, 'producer', log);
  try {
    const store = redisRunStore(redis, { prefix: DEFAULT_PREFIX, keepDays: KEEP_DAYS });
    if (id !== undefined) {
      const record = await store.get(id);
      if (record === undefined) {
        throw new DocketError('run.not_found', `There is no record of run ${id}.`, {
          next: '`docket runs` lists what is kept.',
        });
      }
      print.printJson(record);
      return;
    }
    const { org, report } = flags;
    const list = await store.list({
      ...(org === undefined ? {} : { org }),
      ...(report === undefined ? {} : { report }),
      limit,
    });
    if (flags.json) print.printJson({ runs: list });
    else if (list.length === 0) print.printLine('No run is on record.');
    else {
      print.printLine(
        print.formatColumns(
          ['CREATED', 'STATE', 'REPORT', 'PERIOD', 'CALLS', 'RUN'],
          list.map((run) => [
            new Date(run.createdAt).toISOString(),
            run.state,
            `${run.org}/${run.report}`,
            run.period.label,
            `${run.calls.made}+${run.calls.saved}`,
            run.id,
          ]),
        ),
      );
    }
  } finally {
    redis.disconnect();
  }
}
