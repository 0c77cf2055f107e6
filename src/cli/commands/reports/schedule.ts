import type { Command } from 'commander';

export function addScheduleCommand(program: Command): void {
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
        { parseNumber },
        { createContext },
        { withOptionalRedis },
        { redisPauses },
        { DEFAULT_KEY_PREFIX },
        { pauseToJson, formatPause },
        { redisActiveVersions },
        { reportDiagnostics, loadDefinitions, requireReport },
        { nextReportSlots, timetableOf },
        { slotView },
        print,
      ] = await Promise.all([
        import('../../options/option-parsers.ts'),
        import('../../context.ts'),
        import('../../optional-redis.ts'),
        import('../../../queue/schedules/pauses.ts'),
        import('../../../redis/keys.ts'),
        import('../../terminal/format-pause.ts'),
        import('../../../queue/definitions/active-versions.ts'),
        import('../../../services/definitions/built-in-kinds.ts'),
        import('../../../definitions/schedules/slots.ts'),
        import('../../../definitions/schedules/slot-view.ts'),
        import('../../terminal/print.ts'),
      ]);
      const count = parseNumber('--count', options.count, { min: 1, max: 1000 });
      const around = createContext();
      const jobs = await loadDefinitions(around.config.DOCKET_JOBS);
      const definitions = report === undefined ? [...jobs.reports.values()] : [requireReport(jobs, report).definition];
      const slots = definitions.flatMap((definition) => {
        const settings = jobs.orgs.get(definition.org);
        if (settings === undefined) return [];
        const report = `${definition.org}/${definition.report}`;
        const next = nextReportSlots(timetableOf(definition, settings), around.clock.now(), count);
        if (next.length === 0 && definition.schedule.length > 0) {
          print.printStatus(`${report} has no slot any more: its schedules have ended, or no day fits them`);
        }
        return next.map((slot) => ({ report, ...slotView(slot, definition, settings.timezone) }));
      });
      slots.sort((a, b) => a.at.localeCompare(b.at));
      for (const fault of jobs.diagnostics)
        print.printStatus(`left out: ${fault.file} has a fault; see \`docket check\``);
      const shared = await withOptionalRedis(around, 'what is paused', async (redis) => ({
        all: await redisPauses(redis, { prefix: DEFAULT_KEY_PREFIX }).list(),
        versions:
          jobs.diagnostics.length === 0
            ? undefined
            : await redisActiveVersions(redis, { prefix: DEFAULT_KEY_PREFIX }).read(),
      }));
      for (const [name, { since }] of shared?.versions ?? []) {
        if (jobs.reports.has(name) || reportDiagnostics(jobs, name).length === 0) continue;
        print.printStatus(`${name} goes on as it was put in force at ${new Date(since).toISOString()}`);
      }
      const all = shared?.all;
      const listed = new Set(definitions.flatMap(({ org, report: id }) => [org, `${org}/${id}`]));
      const paused = all?.filter(({ org, report: id }) => listed.has(id === null ? org : `${org}/${id}`));
      if (options.json) return print.printJson({ slots, paused: paused?.map(pauseToJson) ?? null });
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
      for (const pause of paused ?? []) print.printLine(`\n${formatPause(pause).join('\n')}`);
    });
}
