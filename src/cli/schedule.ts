import type { Command } from 'commander';

export function addSchedule(program: Command): void {
  program
    .command('schedule')
    .description('List the next slots of the scheduled reports, in UTC and in their own zone')
    .argument('[report]', '<org>/<report>; all of DOCKET_JOBS when absent')
    .option('--count <n>', 'slots per report', '5')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
With REDIS_URL set, says which organizations are paused because their API key was refused; \`docket resume\` lifts that.

Examples:
  docket schedule
  docket schedule demo/weekly-kpi --count 10 --json`,
    )
    .action(async (report: string | undefined, options: { count: string; json?: boolean }) => {
      const [
        { DateTime },
        { readNumber },
        { readSurroundings },
        { askRedisIfSet },
        { redisPauses },
        { DEFAULT_PREFIX },
        { pauseDocument },
        { loadJobs, requireReport },
        { nextSlots },
        print,
      ] = await Promise.all([
        import('luxon'),
        import('./flag.ts'),
        import('./surroundings.ts'),
        import('./redis-if-set.ts'),
        import('../queue/pauses.ts'),
        import('../queue/keys.ts'),
        import('./pause-document.ts'),
        import('../define/load.ts'),
        import('../define/slots.ts'),
        import('./print.ts'),
      ]);
      const count = readNumber('--count', options.count, { min: 1, max: 1000 });
      const around = readSurroundings();
      const jobs = await loadJobs(around.config.DOCKET_JOBS);
      const definitions = report === undefined ? [...jobs.reports.values()] : [requireReport(jobs, report).definition];
      const slots = definitions.flatMap(({ org, report: id, schedule }) => {
        const settings = jobs.orgs.get(org);
        if (schedule === undefined || settings === undefined) return [];
        const timezone = schedule.timezone ?? settings.timezone;
        return nextSlots(schedule, timezone, around.clock.now(), count).map((at) => ({
          report: `${org}/${id}`,
          at: new Date(at).toISOString(),
          local: DateTime.fromMillis(at, { zone: timezone }).toFormat("ccc yyyy-MM-dd HH:mm 'UTC'ZZ"),
          timezone,
        }));
      });
      slots.sort((a, b) => a.at.localeCompare(b.at));
      for (const fault of jobs.faults) print.sayLine(`left out: ${fault.file} has a fault; see \`docket check\``);
      const all = await askRedisIfSet(around, 'which organizations are paused', (redis) =>
        redisPauses(redis, { prefix: DEFAULT_PREFIX }).list(),
      );
      const listed = new Set(definitions.map(({ org }) => org));
      const paused = all?.filter(({ org }) => listed.has(org));
      if (options.json) return print.printJson({ slots, paused: paused?.map(pauseDocument) ?? null });
      if (slots.length === 0) print.printLine('No report has a schedule.');
      else
        print.printLine(
          print.formatColumns(
            ['UTC', 'LOCAL', 'ZONE', 'REPORT'],
            slots.map((slot) => [slot.at, slot.local, slot.timezone, slot.report]),
          ),
        );
      for (const { org, since, why } of paused ?? []) {
        print.printLine(`\n${org} is paused since ${new Date(since).toISOString()}: ${why}`);
        print.printLine(`Its slots wait; they go on with another API key, or after \`docket resume ${org}\`.`);
      }
    });
}
