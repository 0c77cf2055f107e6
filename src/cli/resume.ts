import type { Command } from 'commander';

interface ResumeFlags {
  readonly reason: string;
  readonly by?: string;
  readonly json?: boolean;
}

export function addResume(program: Command): void {
  program
    .command('resume')
    .description('Lift the pause of an organization or a report')
    .argument('<target>', '<org> or <org>/<report>')
    .option('--reason <text>', 'why; kept in the history of pauses', 'resumed')
    .option('--by <name>', 'who resumes; the user of this shell when absent')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
A key that the service refuses pauses the scheduled runs of its organization, too. They go on by themselves when the key
is another one, or when a run on demand succeeds; this command is for the rest, e.g. a permission that was given back.
Slots that came due meanwhile are made up for as the report's catch_up says. Reports that were paused one by one stay so.

Environment: REDIS_URL, DOCKET_JOBS, LOG_LEVEL

Examples:
  docket resume acme
  docket resume acme/weekly-kpi --reason "figures checked"`,
    )
    .action(resume);
}

async function resume(target: string, flags: ResumeFlags): Promise<void> {
  const [
    { readSurroundings },
    { openRedis },
    { DEFAULT_PREFIX },
    { redisPauses },
    { loadJobs },
    { pauseDocument },
    { readTarget, requireTarget },
    { readDecider },
    { openAudit },
    print,
  ] = await Promise.all([
    import('./surroundings.ts'),
    import('../queue/connection.ts'),
    import('../queue/keys.ts'),
    import('../queue/pauses.ts'),
    import('../define/load.ts'),
    import('./pause-document.ts'),
    import('./pause-target.ts'),
    import('./decider.ts'),
    import('./audit.ts'),
    import('./print.ts'),
  ]);
  const around = readSurroundings();
  const { config, log } = around;
  const { by, reason } = await readDecider(flags);
  const of = readTarget(target);
  const redis = await openRedis(config.REDIS_URL, 'producer', log);
  try {
    const pauses = redisPauses(redis, { prefix: DEFAULT_PREFIX });
    const lifted = await pauses.lift(of, by, reason);
    // A report that is gone may still be paused; only where nothing was is the name looked at.
    if (lifted.length === 0) await requireTarget(await loadJobs(config.DOCKET_JOBS), of);
    else {
      const named = of.report === null ? { org: of.org } : { org: of.org, report: of.report };
      await (await openAudit(redis, around)).tell({ event: 'schedule.resumed', who: by, ...named, why: reason });
    }
    const rest = (await pauses.list()).filter(
      ({ org, report }) => org === of.org && (of.report === null || report === null || report === of.report),
    );
    if (flags.json) {
      return print.printJson({
        organization: of.org,
        report: of.report,
        lifted: lifted.map(pauseDocument),
        paused: rest.map(pauseDocument),
      });
    }
    if (lifted.length === 0) print.printLine(`${target} is not paused.`);
    for (const { since, who, why } of lifted) {
      print.printLine(
        `${target} goes on within a minute. It was paused since ${new Date(since).toISOString()} by ${who}: ${why}`,
      );
    }
    for (const { org, report, who, why } of rest) {
      print.printLine(`${report === null ? org : `${org}/${report}`} stays paused by ${who}: ${why}`);
    }
  } finally {
    redis.disconnect();
  }
}
