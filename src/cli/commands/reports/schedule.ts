import { pauseView } from '../../../admin/api/schemas.ts';
import { loadDefinitions, reportDiagnostics, requireReport } from '../../../compose/built-in-kinds.ts';
import type { Definitions } from '../../../definitions/load/load-definitions.ts';
import { slotView } from '../../../definitions/schedules/slot-view.ts';
import { buildTimetable, nextReportSlots } from '../../../definitions/schedules/slots.ts';
import type { Definition } from '../../../definitions/schema/report-definition.ts';
import { redisActiveVersions } from '../../../queue/definitions/active-versions.ts';
import { redisPauses } from '../../../queue/schedules/pauses.ts';
import { DEFAULT_KEY_PREFIX } from '../../../redis/keys.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { parseNumber } from '../../options/option-parsers.ts';
import { readOptionalRedis } from '../../redis.ts';
import { timesFor } from '../../terminal/local-times.ts';
import { type Column, createPrinter } from '../../terminal/print.ts';
import { formatPause, resumeCommands } from '../pause.ts';

interface ScheduleFlags {
  readonly count: string;
  readonly wide?: boolean;
  readonly json?: boolean;
}

const COLUMNS: readonly (string | Column)[] = [
  { name: 'UTC', briefName: 'NEXT', whenNarrow: 'keep' },
  { name: 'LOCAL', whenNarrow: 'drop', rank: 1 },
  { name: 'ZONE', whenNarrow: 'drop', rank: 4 },
  { name: 'REPORT', cut: 'report' },
  { name: 'BEGINS', whenNarrow: 'drop', rank: 2 },
  { name: 'SCHEDULE', whenNarrow: 'drop', rank: 3 },
];

export async function schedule(report: string | undefined, flags: ScheduleFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const count = parseNumber('--count', flags.count, { min: 1, max: 1000 });
  const context = await createContext(io);
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS);
  const definitions = report === undefined ? [...jobs.reports.values()] : [requireReport(jobs, report).definition];
  const { slots, ended } = nextSlots(definitions, jobs, count, context.clock.now());
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
  if (flags.json) return print.printJson({ slots, paused: paused?.map(pauseView) ?? null });
  const times = timesFor(io, context.clock.now(), flags);
  if (slots.length === 0) print.printLine('No slots.');
  else {
    print.printTable(
      COLUMNS,
      slots.map(({ at, local, timezone, report: name, begins, schedule: rule }) => [
        { exact: at, brief: times.relative(Date.parse(at)) },
        local,
        timezone,
        name,
        begins === at ? 'at once' : { exact: begins, brief: times.relative(Date.parse(begins)) },
        rule,
      ]),
      flags,
    );
  }
  for (const pause of paused ?? []) print.printText(`\n${formatPause(pause, times).join('\n')}`);
  print.printNext(resumeCommands(paused ?? []));
}

/** @param now epoch ms */
function nextSlots(definitions: readonly Definition[], { orgs }: Definitions, count: number, now: number) {
  const ended: string[] = [];
  const slots = definitions.flatMap((definition) => {
    const settings = orgs.get(definition.org);
    if (settings === undefined) return [];
    const report = `${definition.org}/${definition.report}`;
    const next = nextReportSlots(buildTimetable(definition, settings), now, count);
    if (next.length === 0 && definition.schedule.length > 0) ended.push(report);
    return next.map((slot) => ({ report, ...slotView(slot, definition, settings.timezone) }));
  });
  slots.sort((a, b) => a.at.localeCompare(b.at));
  return { slots, ended };
}
