import type { Command } from 'commander';
import type { CommandIo } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';

interface ResumeFlags {
  readonly reason: string;
  readonly by?: string;
  readonly json?: boolean;
}

export function addResumeCommand(program: Command, io: CommandIo): void {
  program
    .command('resume')
    .description('End the pause of an organization or a report')
    .argument('<target>', '<org> or <org>/<report>')
    .option('--reason <text>', 'why; stored in the history of pauses', 'resumed')
    .option('--by <name>', 'who resumes; default: the user of this shell')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
When the service rejects an API key, the scheduled runs of its organization are paused, too. That pause ends by itself with
another key, or when a run on demand succeeds; this command is for all other cases, e.g. a permission that was restored.
Slots that came due meanwhile are caught up according to catch_up. Pauses of single reports stay.

Environment: REDIS_URL, DOCKET_JOBS, LOG_LEVEL

Examples:
  docket resume acme
  docket resume acme/weekly-kpi --reason "figures checked"`,
    )
    .action((target: string, flags: ResumeFlags) => resume(target, flags, io));
}

async function resume(target: string, flags: ResumeFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [
    { createContext },
    { withRedis },
    { DEFAULT_KEY_PREFIX },
    { redisPauses },
    { loadDefinitions },
    { pauseToJson },
    { parsePauseTarget, assertPauseTargetExists },
    { readActor },
    { openAuditLog },
    { resumeSchedules },
  ] = await Promise.all([
    import('../context.ts'),
    import('../redis.ts'),
    import('../../redis/keys.ts'),
    import('../../queue/schedules/pauses.ts'),
    import('../../services/definitions/built-in-kinds.ts'),
    import('../terminal/format-pause.ts'),
    import('../options/pause-target.ts'),
    import('../options/actor.ts'),
    import('../audit-log.ts'),
    import('../../services/runs/pause-schedules.ts'),
  ]);
  const context = createContext(io);
  const { by, reason } = await readActor(flags);
  const named = parsePauseTarget(target);
  const { ended, others } = await withRedis(context, async (redis) => {
    const pauses = redisPauses(redis, { prefix: DEFAULT_KEY_PREFIX });
    const audit = openAuditLog(redis, context);
    const ended = await resumeSchedules(named, { by, reason }, { pauses, audit });
    // A report without a definition may still be paused: the name is checked only when nothing was.
    if (ended.length === 0) await assertPauseTargetExists(await loadDefinitions(context.config.DOCKET_JOBS), named);
    const others = (await pauses.list()).filter(
      ({ org, report }) => org === named.org && (named.report === null || report === null || report === named.report),
    );
    return { ended, others };
  });
  if (flags.json) {
    return print.printJson({
      organization: named.org,
      report: named.report,
      lifted: ended.map(pauseToJson),
      paused: others.map(pauseToJson),
    });
  }
  if (ended.length === 0) print.printLine(`${target} is not paused.`);
  for (const { since, who, why } of ended) {
    print.printLine(
      `${target} resumes within a minute. It was paused since ${new Date(since).toISOString()} by ${who}: ${why}`,
    );
  }
  for (const { org, report, who, why } of others) {
    print.printLine(`${report === null ? org : `${org}/${report}`} stays paused by ${who}: ${why}`);
  }
}
