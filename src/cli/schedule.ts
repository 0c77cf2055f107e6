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
With REDIS_URL set, says which of these reports and organizations are paused, by whom and why.

Environment: DOCKET_JOBS, REDIS_URL, LOG_LEVEL

Examples:
  docket schedule
  docket schedule demo/weekly-kpi --count 10 --json`,
    )
    .action(async (report: string | undefined, options: { count: string; json?: boolean }) => {
      const [
        { readNumber },
        { readSurroundings },
        { askRedisIfSet },
        { redisPauses },
        { DEFAULT_PREFIX },
        { pauseDocument, pauseLines },
        { redisVersions },
        { faultsOf, loadJobs, requireReport },
        { nextReportSlots, timetableOf },
        { slotView },
        print,
      ] = await Promise.all([
        import('./flag.ts'),
        import('./surroundings.ts'),
        import('./redis-if-set.ts'),
        import('../queue/pauses.ts'),
        import('../queue/keys.ts'),
        import('./pause-document.ts'),
        import('../queue/versions.ts'),
        import('../define/load.ts'),
        import('../define/slots.ts'),
        import('../define/slot-view.ts'),
        import('./print.ts'),
      ]);
      const count = readNumber('--count', options.count, { min: 1, max: 1000 });
      const around = readSurroundings();
      const jobs = await loadJobs(around.config.DOCKET_JOBS);
      const definitions = report === undefined ? [...jobs.reports.values()] : [requireReport(jobs, report).definition];
      const slots = definitions.flatMap((definition) => {
        const settings = jobs.orgs.get(definition.org);
        if (settings === undefined) return [];
        const report = `${definition.org}/${definition.report}`;
        const next = nextReportSlots(timetableOf(definition, settings), around.clock.now(), count);
        if (next.length === 0 && definition.schedule.length > 0) {
          print.sayLine(`${report} has no slot any more: its schedules have ended, or no day fits them`);
        }
        return next.map((slot) => ({ report, ...slotView(slot, definition, settings.timezone) }));
      });
      slots.sort((a, b) => a.at.localeCompare(b.at));
      for (const fault of jobs.faults) print.sayLine(`left out: ${fault.file} has a fault; see \`docket check\``);
      const shared = await askRedisIfSet(around, 'what is paused', async (redis) => ({
        all: await redisPauses(redis, { prefix: DEFAULT_PREFIX }).list(),
        versions: jobs.faults.length === 0 ? undefined : await redisVersions(redis, { prefix: DEFAULT_PREFIX }).read(),
      }));
      for (const [name, { since }] of shared?.versions ?? []) {
        if (jobs.reports.has(name) || faultsOf(jobs, name).length === 0) continue;
        print.sayLine(`${name} goes on as it was put in force at ${new Date(since).toISOString()}`);
      }
      const all = shared?.all;
      const listed = new Set(definitions.flatMap(({ org, report: id }) => [org, `${org}/${id}`]));
      const paused = all?.filter(({ org, report: id }) => listed.has(id === null ? org : `${org}/${id}`));
      if (options.json) return print.printJson({ slots, paused: paused?.map(pauseDocument) ?? null });
      if (slots.length === 0) print.printLine('No slots.');
      else
        print.printLine(
          print.formatColumns(
            [
              { name: 'UTC', narrow: 'whole' },
              { name: 'LOCAL', narrow: 'spare' },
              { name: 'ZONE', narrow: 'spare' },
              'REPORT',
              { name: 'BEGINS', narrow: 'spare' },
              { name: 'SCHEDULE', narrow: 'spare' },
            ],
            slots.map(({ at, local, timezone, report, begins, schedule }) => [
              at,
              local,
              timezone,
              report,
              begins === at ? 'at once' : begins,
              schedule,
            ]),
          ),
        );
      for (const pause of paused ?? []) print.printLine(`\n${pauseLines(pause).join('\n')}`);
    });
}
