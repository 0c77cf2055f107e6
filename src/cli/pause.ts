import type { Command } from 'commander';

interface PauseFlags {
  readonly reason?: string;
  readonly by?: string;
  readonly history?: boolean;
  readonly json?: boolean;
}

export function addPause(program: Command): void {
  program
    .command('pause')
    .description('Let the scheduled runs of a report or an organization wait; without arguments, list what is paused')
    .argument('[target]', '<org> or <org>/<report>')
    .option('--reason <text>', 'why; kept with the pause')
    .option('--by <name>', 'who pauses; the user of this shell when absent')
    .option('--history', 'list the last pauses and resumptions instead')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Scheduled runs wait, those that are in line already as well; a run in hand goes on. Runs on demand are made all the same:
whoever asks for one now knows what he does. A person's pause ends by \`docket resume\` alone, and the slots that came due
meanwhile are then made up for as the report's catch_up says.

Environment: REDIS_URL, DOCKET_JOBS, LOG_LEVEL

Examples:
  docket pause acme/weekly-kpi --reason "the new figures are being checked"
  docket pause acme --reason "contract ended" --by legal
  docket pause`,
    )
    .action(pause);
}

async function pause(target: string | undefined, flags: PauseFlags): Promise<void> {
  const [{ DocketError }, { readSurroundings }, { openRedis }, { DEFAULT_PREFIX }, { redisPauses }] = await Promise.all(
    [
      import('../base/error.ts'),
      import('./surroundings.ts'),
      import('../queue/connection.ts'),
      import('../queue/keys.ts'),
      import('../queue/pauses.ts'),
    ],
  );
  const put = target === undefined ? undefined : await wanted(target, flags);
  if (put === undefined && (flags.reason !== undefined || flags.by !== undefined)) {
    throw new DocketError('usage.invalid', 'Nothing is named that should be paused.', {
      expected: 'docket pause <org>[/<report>] --reason "…"',
      next: 'See docket pause --help.',
    });
  }
  const around = readSurroundings();
  const { config, clock, log } = around;
  const redis = await openRedis(config.REDIS_URL, 'producer', log);
  try {
    const pauses = redisPauses(redis, { prefix: DEFAULT_PREFIX });
    if (put === undefined) await list(pauses, flags);
    else {
      const stands = await pauses.put({ ...put, since: clock.now(), key: null, run: null });
      await tellPaused(put, redis, around);
      await show(stands, put, flags);
    }
  } finally {
    redis.disconnect();
  }
}

async function tellPaused(
  { org, report, who, why }: Wanted,
  redis: import('../base/redis-client.ts').RedisClient,
  around: import('../compose/ports.ts').Surroundings,
): Promise<void> {
  const { openAudit } = await import('./audit.ts');
  const of = report === null ? { org } : { org, report };
  await (await openAudit(redis, around)).tell({ event: 'schedule.paused', who, ...of, why });
}

type Wanted = Pick<import('../queue/pauses.ts').Pause, 'org' | 'report' | 'who' | 'why'>;

async function wanted(target: string, { reason, by, history }: PauseFlags): Promise<Wanted> {
  const [{ DocketError }, { readSurroundings }, { loadJobs }, { readTarget, requireTarget }, { readDecider }] =
    await Promise.all([
      import('../base/error.ts'),
      import('./surroundings.ts'),
      import('../define/load.ts'),
      import('./pause-target.ts'),
      import('./decider.ts'),
    ]);
  if (reason === undefined || history) {
    throw new DocketError('usage.invalid', history ? '--history takes no target.' : 'A pause needs its reason.', {
      where: history ? '--history' : '--reason',
      expected: 'docket pause <org>[/<report>] --reason "…"',
      next: 'See docket pause --help.',
    });
  }
  const of = readTarget(target);
  await requireTarget(await loadJobs(readSurroundings().config.DOCKET_JOBS), of);
  const decider = await readDecider({ reason, ...(by === undefined ? {} : { by }) });
  return { ...of, who: decider.by, why: decider.reason };
}

async function show(stands: import('../queue/pauses.ts').Pause, put: Wanted, { json }: PauseFlags): Promise<void> {
  const [{ pauseDocument, pauseLines }, print] = await Promise.all([
    import('./pause-document.ts'),
    import('./print.ts'),
  ]);
  if (json) return print.printJson({ pause: pauseDocument(stands) });
  const [first, second] = pauseLines(stands);
  print.printLine(first);
  print.printLine(second);
  if (stands.who !== put.who || stands.why !== put.why) {
    print.sayLine('It was paused before, and stays as it is: resume it first to give another reason.');
  }
}

async function list(pauses: import('../queue/pauses.ts').Pauses, { history, json }: PauseFlags): Promise<void> {
  const [{ pauseDocument, pauseLines }, print] = await Promise.all([
    import('./pause-document.ts'),
    import('./print.ts'),
  ]);
  if (history) {
    const entries = (await pauses.history(1_000)).map(({ org, at, ...entry }) => ({
      at: new Date(at).toISOString(),
      organization: org,
      ...entry,
    }));
    if (json) return print.printJson({ history: entries });
    if (entries.length === 0) return print.printLine('Nothing was paused.');
    const row = ({ at, what, organization, report, who, why }: (typeof entries)[number]) =>
      [at, what, report === null ? organization : `${organization}/${report}`, who, why] as const;
    return print.printLine(print.formatColumns(['UTC', 'WHAT', 'OF', 'WHO', 'WHY'], entries.map(row)));
  }
  const all = await pauses.list();
  if (json) return print.printJson({ paused: all.map(pauseDocument) });
  if (all.length === 0) return print.printLine('Nothing is paused.');
  print.printLine(all.map((pause) => pauseLines(pause).join('\n')).join('\n\n'));
}
