import type { Command } from 'commander';

interface PauseFlags {
  readonly reason?: string;
  readonly by?: string;
  readonly history?: boolean;
  readonly json?: boolean;
}

export function addPauseCommand(program: Command): void {
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
  const [{ DocketError }, { createContext }, { openRedis }, { DEFAULT_KEY_PREFIX }, { redisPauses }] =
    await Promise.all([
      import('../../base/error.ts'),
      import('../context.ts'),
      import('../../redis/connection.ts'),
      import('../../redis/keys.ts'),
      import('../../queue/schedules/pauses.ts'),
    ]);
  const put = target === undefined ? undefined : await readPauseRequest(target, flags);
  if (put === undefined && (flags.reason !== undefined || flags.by !== undefined)) {
    throw new DocketError('usage.invalid', 'Nothing is named that should be paused.', {
      expected: 'docket pause <org>[/<report>] --reason "…"',
      next: 'See docket pause --help.',
    });
  }
  const around = createContext();
  const { config, clock, log } = around;
  const redis = await openRedis(config.REDIS_URL, 'producer', log);
  try {
    const pauses = redisPauses(redis, { prefix: DEFAULT_KEY_PREFIX });
    if (put === undefined) await list(pauses, flags);
    else {
      const [{ openAuditLog }, { pauseSchedules }] = await Promise.all([
        import('../context.ts'),
        import('../../services/runs/pause-schedules.ts'),
      ]);
      const ports = { pauses, audit: await openAuditLog(redis, around), clock };
      const active = await pauseSchedules(put, { by: put.who, reason: put.why }, ports, { recordUnchanged: true });
      await show(active, put, flags);
    }
  } finally {
    redis.disconnect();
  }
}

type PauseRequest = Pick<import('../../queue/schedules/pauses.ts').Pause, 'org' | 'report' | 'who' | 'why'>;

async function readPauseRequest(target: string, { reason, by, history }: PauseFlags): Promise<PauseRequest> {
  const [
    { DocketError },
    { createContext },
    { loadDefinitions },
    { parsePauseTarget, assertPauseTargetExists },
    { readActor },
  ] = await Promise.all([
    import('../../base/error.ts'),
    import('../context.ts'),
    import('../../services/definitions/built-in-kinds.ts'),
    import('../options/pause-target.ts'),
    import('../options/actor.ts'),
  ]);
  if (reason === undefined || history) {
    throw new DocketError('usage.invalid', history ? '--history takes no target.' : 'A pause needs its reason.', {
      where: history ? '--history' : '--reason',
      expected: 'docket pause <org>[/<report>] --reason "…"',
      next: 'See docket pause --help.',
    });
  }
  const of = parsePauseTarget(target);
  await assertPauseTargetExists(await loadDefinitions(createContext().config.DOCKET_JOBS), of);
  const decider = await readActor({ reason, ...(by === undefined ? {} : { by }) });
  return { ...of, who: decider.by, why: decider.reason };
}

async function show(
  stands: import('../../queue/schedules/pauses.ts').Pause,
  put: PauseRequest,
  { json }: PauseFlags,
): Promise<void> {
  const [{ pauseToJson, formatPause }, print] = await Promise.all([
    import('../terminal/format-pause.ts'),
    import('../terminal/print.ts'),
  ]);
  if (json) return print.printJson({ pause: pauseToJson(stands) });
  const [first, second] = formatPause(stands);
  print.printLine(first);
  print.printLine(second);
  if (stands.who !== put.who || stands.why !== put.why) {
    print.printStatus('It was paused before, and stays as it is: resume it first to give another reason.');
  }
}

async function list(
  pauses: import('../../queue/schedules/pauses.ts').Pauses,
  { history, json }: PauseFlags,
): Promise<void> {
  const [{ pauseToJson, formatPause }, print] = await Promise.all([
    import('../terminal/format-pause.ts'),
    import('../terminal/print.ts'),
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
  if (json) return print.printJson({ paused: all.map(pauseToJson) });
  if (all.length === 0) return print.printLine('Nothing is paused.');
  print.printLine(all.map((pause) => formatPause(pause).join('\n')).join('\n\n'));
}
