import type { Command } from 'commander';

export function addSchedule(program: Command): void {
  program
    .command('schedule')
    .description('List the next slots of the scheduled reports, in UTC and in their own zone')
    .argument('[report]', '<org>/<report>; all of DOCKET_JOBS when absent')
    .option('--count <n>', 'slots per report', '5')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', '\nExamples:\n  docket schedule\n  docket schedule demo/weekly-kpi --count 10 --json')
    .action(async (report: string | undefined, options: { count: string; json?: boolean }) => {
      const [
        { DateTime },
        { readNumber },
        { readConfig },
        { systemClock },
        { loadJobs, requireReport },
        { nextSlots },
        print,
      ] = await Promise.all([
        import('luxon'),
        import('./flag.ts'),
        import('../base/config.ts'),
        import('../base/clock.ts'),
        import('../define/load.ts'),
        import('../define/slots.ts'),
        import('./print.ts'),
      ]);
      const count = readNumber('--count', options.count, { min: 1, max: 1000 });
      const jobs = await loadJobs(readConfig(process.env).DOCKET_JOBS);
      const definitions = report === undefined ? [...jobs.reports.values()] : [requireReport(jobs, report).definition];
      const slots = definitions.flatMap(({ org, report: id, schedule }) => {
        const settings = jobs.orgs.get(org);
        if (schedule === undefined || settings === undefined) return [];
        const timezone = schedule.timezone ?? settings.timezone;
        return nextSlots(schedule, timezone, systemClock.now(), count).map((at) => ({
          report: `${org}/${id}`,
          at: new Date(at).toISOString(),
          local: DateTime.fromMillis(at, { zone: timezone }).toFormat("ccc yyyy-MM-dd HH:mm 'UTC'ZZ"),
          timezone,
        }));
      });
      slots.sort((a, b) => a.at.localeCompare(b.at));
      for (const fault of jobs.faults) print.sayLine(`left out: ${fault.file} has a fault; see \`docket check\``);
      if (options.json) print.printJson({ slots });
      else if (slots.length === 0) print.printLine('No report has a schedule.');
      else
        print.printLine(
          print.formatColumns(
            ['UTC', 'LOCAL', 'ZONE', 'REPORT'],
            slots.map((slot) => [slot.at, slot.local, slot.timezone, slot.report]),
          ),
        );
    });
}
