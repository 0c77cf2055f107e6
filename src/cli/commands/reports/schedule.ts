import type { Command } from 'commander';
import type { Definitions } from '../../../definitions/load/load-definitions.ts';
import type { Definition } from '../../../definitions/schema/report-definition.ts';
import type { CommandIo } from '../../io.ts';
import { createPrinter } from '../../terminal/print.ts';
import type { Column } from '../../terminal/table.ts';

interface ScheduleFlags {
  readonly count: string;
  readonly json?: boolean;
}

export function addScheduleCommand(program: Command, io: CommandIo): void {
  program
    .command('schedule')
    .description('List the next slots of the scheduled reports, in UTC and in their own time zone')
    .argument('[report]', '<org>/<report>; default: all of DOCKET_JOBS')
    .option('--count <n>', 'slots per report', '5')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
With REDIS_URL set, also lists the pauses of these reports and organizations.

Environment: DOCKET_JOBS, REDIS_URL, LOG_LEVEL

Examples:
  docket schedule
  docket schedule demo/weekly-kpi --count 10 --json`,
    )
    .action((report: string | undefined, flags: ScheduleFlags) => schedule(report, flags, io));
}

const COLUMNS: readonly (string | Column)[] = [
  { name: 'UTC', whenNarrow: 'keep' },
  { name: 'LOCAL', whenNarrow: 'drop' },
  { name: 'ZONE', whenNarrow: 'drop' },
  'REPORT',
  { name: 'BEGINS', whenNarrow: 'drop' },
  { name: 'SCHEDULE', whenNarrow: 'drop' },
];

async function schedule(report: string | undefined, flags: ScheduleFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [
    { parseNumber },
    { createContext },
    { readOptionalRedis },
    { redisPauses },
    { DEFAULT_KEY_PREFIX },
    { pauseToJson, formatPause },
    { redisActiveVersions },
    { reportDiagnostics, loadDefinitions, requireReport },
  ] = await Promise.all([
    import('../../options/option-parsers.ts'),
    import('../../context.ts'),
    import('../../redis.ts'),
    import('../../../queue/schedules/pauses.ts'),
    import('../../../redis/keys.ts'),
    import('../../terminal/format-pause.ts'),
    import('../../../queue/definitions/active-versions.ts'),
    import('../../../services/definitions/built-in-kinds.ts'),
  ]);
  const count = parseNumber('--count', flags.count, { min: 1, max: 1000 });
  const context = createContext(io);
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS);
  const definitions = report === undefined ? [...jobs.reports.values()] : [requireReport(jobs, report).definition];
  const { slots, ended } = await nextSlots(definitions, jobs, count, context.clock.now());
  for (const name of ended)
    print.printStatus(`${name} has no more slots: its schedules have ended, or no day matches them`);
  for (const { file } of jobs.diagnostics) print.printStatus(`skipped: ${file} is invalid; see \`docket check\``);
  const shared = await readOptionalRedis(context, io, 'the list of pauses', async (redis) => ({
    pauses: await redisPauses(redis, { prefix: DEFAULT_KEY_PREFIX }).list(),
    versions:
      jobs.diagnostics.length === 0
        ? undefined
        : await redisActiveVersions(redis, { prefix: DEFAULT_KEY_PREFIX }).read(),
  }));
  for (const [name, { since }] of shared?.versions ?? []) {
    if (jobs.reports.has(name) || reportDiagnostics(jobs, name).length === 0) continue;
    print.printStatus(`${name} continues with the version active since ${new Date(since).toISOString()}`);
  }
  const listed = new Set(definitions.flatMap(({ org, report: id }) => [org, `${org}/${id}`]));
  const paused = shared?.pauses.filter(({ org, report: id }) => listed.has(id === null ? org : `${org}/${id}`));
  if (flags.json) return print.printJson({ slots, paused: paused?.map(pauseToJson) ?? null });
  if (slots.length === 0) print.printLine('No slots.');
  else {
    print.printTable(
      COLUMNS,
      slots.map(({ at, local, timezone, report: name, begins, schedule: rule }) => [
        at,
        local,
        timezone,
        name,
        begins === at ? 'at once' : begins,
        rule,
      ]),
    );
  }
  for (const pause of paused ?? []) print.printLine(`\n${formatPause(pause).join('\n')}`);
}

/** @param now epoch ms */
async function nextSlots(definitions: readonly Definition[], { orgs }: Definitions, count: number, now: number) {
  const [{ nextReportSlots, timetableOf }, { slotView }] = await Promise.all([
    import('../../../definitions/schedules/slots.ts'),
    import('../../../definitions/schedules/slot-view.ts'),
  ]);
  const ended: string[] = [];
  const slots = definitions.flatMap((definition) => {
    const settings = orgs.get(definition.org);
    if (settings === undefined) return [];
    const report = `${definition.org}/${definition.report}`;
    const next = nextReportSlots(timetableOf(definition, settings), now, count);
    if (next.length === 0 && definition.schedule.length > 0) ended.push(report);
    return next.map((slot) => ({ report, ...slotView(slot, definition, settings.timezone) }));
  });
  slots.sort((a, b) => a.at.localeCompare(b.at));
  return { slots, ended };
}
