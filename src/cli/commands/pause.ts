import type { Command } from 'commander';
import type { AppContext } from '../../base/context.ts';
import type { Pause, Pauses } from '../../queue/schedules/pauses.ts';
import type { CommandIo } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';

interface PauseFlags {
  readonly reason?: string;
  readonly by?: string;
  readonly history?: boolean;
  readonly json?: boolean;
}

export function addPauseCommand(program: Command, io: CommandIo): void {
  program
    .command('pause')
    .description('Pause the scheduled runs of a report or an organization; without arguments, list the pauses')
    .argument('[target]', '<org> or <org>/<report>')
    .option('--reason <text>', 'why; stored with the pause')
    .option('--by <name>', 'who pauses; default: the user of this shell')
    .option('--history', 'list the latest pauses and resumptions instead')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Scheduled runs wait, including those already queued; a running one continues, and runs on demand are not affected. A pause
by an operator ends only with \`docket resume\`; slots that came due meanwhile are then caught up according to catch_up.

Environment: REDIS_URL, DOCKET_JOBS, LOG_LEVEL

Examples:
  docket pause acme/weekly-kpi --reason "the new figures are being checked"
  docket pause acme --reason "contract ended" --by legal
  docket pause`,
    )
    .action((target: string | undefined, flags: PauseFlags) => pause(target, flags, io));
}

type PauseRequest = Pick<Pause, 'org' | 'report' | 'who' | 'why'>;

async function pause(target: string | undefined, flags: PauseFlags, io: CommandIo): Promise<void> {
  const [
    { DocketError },
    { createContext },
    { withRedis },
    { DEFAULT_KEY_PREFIX },
    { redisPauses },
    { pauseSchedules },
    { openAuditLog },
  ] = await Promise.all([
    import('../../base/error.ts'),
    import('../context.ts'),
    import('../redis.ts'),
    import('../../redis/keys.ts'),
    import('../../queue/schedules/pauses.ts'),
    import('../../services/runs/pause-schedules.ts'),
    import('../audit-log.ts'),
  ]);
  const context = createContext(io);
  const request = target === undefined ? undefined : await readPauseRequest(target, flags, context);
  if (request === undefined && (flags.reason !== undefined || flags.by !== undefined)) {
    throw new DocketError('usage.invalid', 'No target given.', {
      expected: 'docket pause <org>[/<report>] --reason "…"',
      next: 'See docket pause --help.',
    });
  }
  await withRedis(context, async (redis) => {
    const pauses = redisPauses(redis, { prefix: DEFAULT_KEY_PREFIX });
    if (request === undefined) return list(pauses, flags, io);
    const ports = { pauses, audit: openAuditLog(redis, context), clock: context.clock };
    const actor = { by: request.who, reason: request.why };
    const active = await pauseSchedules(request, actor, ports, { recordUnchanged: true });
    await printPause(active, request, flags, io);
  });
}

async function readPauseRequest(
  target: string,
  { reason, by, history }: PauseFlags,
  { config }: AppContext,
): Promise<PauseRequest> {
  const [{ DocketError }, { loadDefinitions }, { parsePauseTarget, assertPauseTargetExists }, { readActor }] =
    await Promise.all([
      import('../../base/error.ts'),
      import('../../services/definitions/built-in-kinds.ts'),
      import('../options/pause-target.ts'),
      import('../options/actor.ts'),
    ]);
  if (reason === undefined || history) {
    throw new DocketError('usage.invalid', history ? '--history takes no target.' : 'A pause needs a reason.', {
      where: history ? '--history' : '--reason',
      expected: 'docket pause <org>[/<report>] --reason "…"',
      next: 'See docket pause --help.',
    });
  }
  const named = parsePauseTarget(target);
  await assertPauseTargetExists(await loadDefinitions(config.DOCKET_JOBS), named);
  const actor = await readActor({ reason, ...(by === undefined ? {} : { by }) });
  return { ...named, who: actor.by, why: actor.reason };
}

async function printPause(
  active: Pause,
  { who, why }: PauseRequest,
  { json }: PauseFlags,
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const { pauseToJson, formatPause } = await import('../terminal/format-pause.ts');
  if (json) return print.printJson({ pause: pauseToJson(active) });
  for (const line of formatPause(active)) print.printLine(line);
  if (active.who !== who || active.why !== why) {
    print.printStatus('It was paused before, and that pause stays unchanged: resume it first to give another reason.');
  }
}

async function list(pauses: Pauses, { history, json }: PauseFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const { pauseToJson, formatPause } = await import('../terminal/format-pause.ts');
  if (history) {
    const entries = (await pauses.history(1_000)).map(({ org, at, ...entry }) => ({
      at: new Date(at).toISOString(),
      organization: org,
      ...entry,
    }));
    if (json) return print.printJson({ history: entries });
    if (entries.length === 0) return print.printLine('No pauses.');
    const row = ({ at, what, organization, report, who, why }: (typeof entries)[number]) =>
      [at, what, report === null ? organization : `${organization}/${report}`, who, why] as const;
    return print.printTable(['UTC', 'WHAT', 'OF', 'WHO', 'WHY'], entries.map(row));
  }
  const all = await pauses.list();
  if (json) return print.printJson({ paused: all.map(pauseToJson) });
  if (all.length === 0) return print.printLine('Nothing is paused.');
  print.printLine(all.map((active) => formatPause(active).join('\n')).join('\n\n'));
}
