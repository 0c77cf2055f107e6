import { DateTime } from 'luxon';
import { silentLog } from '../../base/log.ts';
import { secretSource } from '../../base/secrets/secret.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import { loadDefinitions } from '../../compose/built-in-kinds.ts';
import { cachedCatalog } from '../../fetch/cache/catalog-cache.ts';
import { redisProcessReports } from '../../queue/process-reports.ts';
import { redisRunStore } from '../../queue/runs/run-store.ts';
import { redisPauses } from '../../queue/schedules/pauses.ts';
import { DEFAULT_KEY_PREFIX, RETENTION_DAYS } from '../../redis/keys.ts';
import { redisWatchIndex } from '../../services/corrections/watch-index.ts';
import { forecastDeployment, forecastName } from '../../services/forecast/forecast-deployment.ts';
import { describeLateSlot, forecastDocument } from '../../services/forecast/forecast-document.ts';
import type { ForecastAssumptions } from '../../services/forecast/forecast-run.ts';
import { computeForecast } from '../../services/forecast/forecast-work.ts';
import type { Forecast } from '../../services/forecast/make-forecast.ts';
import type { SimulatedKey } from '../../services/forecast/simulate-runs.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { parseInstant, parseNumber } from '../options/option-parsers.ts';
import { withRedis } from '../redis.ts';
import { localZone, timesFor } from '../terminal/local-times.ts';
import { type Column, createPrinter } from '../terminal/print.ts';
import { isTerminal } from '../terminal/style.ts';
import { instantCell } from '../terminal/table/cell.ts';
import { requireOrganization } from './organization.ts';

interface ForecastFlags {
  readonly key?: string;
  readonly org?: string;
  readonly from?: string;
  readonly hours: string;
  readonly requireComplete?: boolean;
  readonly wide?: boolean;
  readonly json?: boolean;
}

const COLUMNS: readonly (string | Column)[] = [
  { name: 'SLOT', whenNarrow: 'keep' },
  { name: 'REPORT', cut: 'report' },
  'CALLS',
  { name: 'BEGINS', whenNarrow: 'drop', rank: 1 },
  { name: 'READY', whenNarrow: 'drop', rank: 2 },
  'DELIVERED',
  { name: 'ACTUAL', whenNarrow: 'drop', rank: 3 },
  'LATE',
];

export async function forecast(flags: ForecastFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const { clock, config, env } = context;
  const hours = parseNumber('--hours', flags.hours, { min: 1, max: 168 });
  const zone = isTerminal(io.stdout, io.env) && !flags.wide ? localZone(io.env) : 'utc';
  const now = clock.now();
  const from = flags.from === undefined ? now : parseInstant('--from', flags.from, { now, zone: localZone(io.env) });
  const window = { from, to: from + hours * HOUR_MS };
  const jobs = await loadDefinitions(config.DOCKET_JOBS);
  if (flags.org !== undefined) requireOrganization(jobs, flags.org);
  const made = await withRedis(context, async (redis) => {
    const prefix = DEFAULT_KEY_PREFIX;
    return forecastDeployment(window, {
      jobs: () => jobs,
      pauses: redisPauses(redis, { prefix }),
      processes: redisProcessReports(redis, { prefix }),
      runs: redisRunStore(redis, { prefix, keepDays: RETENTION_DAYS, log: silentLog }),
      checks: redisWatchIndex(redis, { prefix }).checks,
      secrets: secretSource(env, context),
      cachedCatalog: (key, settings) => cachedCatalog(redis, `${prefix}:`, key, settings.org),
      compute: computeForecast,
      clock,
    });
  });
  const { assumptions, actual } = made;
  const shown = select(made.forecast, flags);
  for (const file of new Set(jobs.diagnostics.map((one) => one.file)))
    print.printStatus(`skipped: ${file} is invalid; see \`docket check\``);
  for (const { name, slots, why } of shown.unplanned)
    print.printStatus(`not planned: ${name}, ${slots === 1 ? '1 slot' : `${slots} slots`}. ${why}`);
  if (shown.paused.length > 0) print.printStatus(`paused, without runs: ${shown.paused.join(', ')}`);
  if (flags.requireComplete && shown.unplanned.length + jobs.diagnostics.length > 0) io.exitCode = 1;
  const document = forecastDocument({ ...made, forecast: shown });
  if (flags.json) return print.printJson(document);
  if (shown.runs.length === 0) {
    print.printLine(shown.unplanned.length > 0 ? 'No slot could be planned.' : 'No slots to forecast.');
    return;
  }
  const times = timesFor(io, now, flags);
  const actualCell = (at: number | null | undefined, slot: number) => (at == null ? '-' : buildTimeCell(at, slot));
  const buildTimeCell = (at: number, slot: number) => ({
    exact: new Date(at).toISOString(),
    brief: formatDelay(at - slot),
  });
  print.printTable(
    COLUMNS,
    shown.runs.map(({ run, begun, ready, delivered, late }) => [
      instantCell(run.slot, times),
      run.name,
      String(run.calls.length),
      buildTimeCell(begun, run.slot),
      buildTimeCell(ready, run.slot),
      buildTimeCell(delivered, run.slot),
      actualCell(actual.get(forecastName(run))?.finishedAt, run.slot),
      late ? 'late' : '-',
    ]),
    flags,
  );
  if (zone !== 'utc') print.printText('The other times are minutes and seconds after the slot.');
  for (const key of shown.keys) {
    const { calls, windowMs } = key.limits;
    const full = key.fullAt === undefined ? 'no call waits' : `calls wait from ${times.exact(key.fullAt)} on`;
    const tokens = key.minutes.reduce((sum, minute) => sum + minute.tokens, 0);
    print.printText(
      `\nKey ${key.key} of ${key.organizations.join(', ')}: ${tokens} tokens, ${full}. A row is an hour, a bar a minute; a full bar is ${calls} tokens${windowMs === 60_000 ? '' : `, the limit of ${windowMs / SECOND_MS} s`}.`,
    );
    for (const line of chartLines(key, zone)) print.printLine(line);
  }
  for (const slot of document.late_slots) {
    print.printText(`\n${describeLateSlot(slot, zone)}`);
    if (slot.advice !== null) print.printText(slot.advice.reports.join(', '));
  }
  print.printText(`\n${formatAssumptions(assumptions)}`);
}

/** Applies the flags to a forecast. The simulation itself includes runs of other organizations on the same key. */
function select({ runs, keys, lateSlots, unplanned, paused }: Forecast, { key, org }: ForecastFlags): Forecast {
  const isShown = (one: { readonly org: string; readonly key?: string }): boolean =>
    (org === undefined || one.org === org) && (key === undefined || one.key === undefined || one.key.startsWith(key));
  return {
    runs: runs.filter(({ run }) => isShown(run)),
    keys: keys.filter(
      (one) => (key === undefined || one.key.startsWith(key)) && (org === undefined || one.organizations.includes(org)),
    ),
    lateSlots: lateSlots.flatMap((slot) => {
      const own = slot.runs.filter(({ run }) => isShown(run));
      return own.length === 0 ? [] : { ...slot, runs: own };
    }),
    unplanned: unplanned.filter(isShown),
    paused: paused.filter((name) => org === undefined || name.startsWith(`${org}/`)),
  };
}

/** The time after the slot: `+0:07`, `+13:05`, `+1:02:00`. */
function formatDelay(ms: number): string {
  const all = Math.round(ms / SECOND_MS);
  const [hours, minutes, seconds] = [Math.floor(all / 3_600), Math.floor(all / 60) % 60, all % 60];
  const padded = (value: number) => String(value).padStart(2, '0');
  return hours === 0 ? `+${minutes}:${padded(seconds)}` : `+${hours}:${padded(minutes)}:${padded(seconds)}`;
}

const formatAssumptions = ({
  processes,
  concurrency,
  callMs,
  renderMs,
  deliverMs,
  reports,
}: ForecastAssumptions): string =>
  `Assumed: ${processes} × ${concurrency} runs at once; a call takes ${callMs / SECOND_MS} s, rendering ${renderMs / SECOND_MS} s, delivery ${deliverMs / SECOND_MS} s${reports?.size ? ` (${reports.size === 1 ? '1 report' : `${reports.size} reports`}: as in the last ten runs)` : ''}. Not counted: runs on demand, backfills, corrected editions and failures.`;

const BARS = '▁▂▃▄▅▆▇█';
/** Shown for a minute without calls. */
const EMPTY = '·';
const MINUTES = 60;

/**
 * The tokens of a key by minute, one line for each hour with a call, at most 80 columns. A full bar is the limit.
 *
 * @param zone in which hours begin; `utc` for output to programs
 */
function chartLines({ minutes, limits }: Pick<SimulatedKey, 'minutes' | 'limits'>, zone: string): string[] {
  const hours = new Map<number, number[]>();
  for (const { at, tokens } of minutes) {
    const hour = DateTime.fromMillis(at, { zone }).startOf('hour').toMillis();
    const bars = hours.get(hour) ?? Array.from({ length: MINUTES }, () => 0);
    bars[Math.floor((at - hour) / MINUTE_MS)] = tokens;
    hours.set(hour, bars);
  }
  return [...hours].map(([hour, bars]) => {
    const time = DateTime.fromMillis(hour, { zone, locale: 'en-US' });
    const label = zone === 'utc' ? time.toFormat("yyyy-MM-dd'T'HH:mm'Z'") : time.toFormat('ccc d LLL HH:mm');
    return `${label.padEnd(17)} ${bars.map((tokens) => formatBar(tokens / limits.calls)).join('')}`;
  });
}

const formatBar = (share: number): string =>
  share === 0 ? EMPTY : (BARS[Math.min(BARS.length, Math.ceil(share * BARS.length)) - 1] ?? EMPTY);
