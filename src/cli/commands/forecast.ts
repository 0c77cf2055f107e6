import { secretSource } from '../../base/secrets/secret.ts';
import { HOUR_MS, isoInstantOrNull, SECOND_MS } from '../../base/time.ts';
import { loadDefinitions, requireReport } from '../../compose/built-in-kinds.ts';
import { cachedCatalog } from '../../fetch/cache/catalog-cache.ts';
import { redisProcessRegistry } from '../../queue/process-registry.ts';
import { redisPauses } from '../../queue/schedules/pauses.ts';
import { DEFAULT_KEY_PREFIX } from '../../redis/keys.ts';
import { DEFAULT_ASSUMPTIONS, type ForecastAssumptions } from '../../services/forecast/forecast-run.ts';
import { type Forecast, makeForecast } from '../../services/forecast/make-forecast.ts';
import type { ForecastWindow } from '../../services/forecast/plan-slots.ts';
import type { SimulatedRun } from '../../services/forecast/simulate-runs.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { parseInstant, parseNumber } from '../options/option-parsers.ts';
import { withRedis } from '../redis.ts';
import { chartLines } from '../terminal/forecast-chart.ts';
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
  const { forecast: all, assumptions } = await withRedis(context, async (redis) => {
    const prefix = DEFAULT_KEY_PREFIX;
    const workers = (await redisProcessRegistry(redis, { prefix, self: 'reader' }).countByRole()).get('worker') ?? 0;
    const assumed = { ...DEFAULT_ASSUMPTIONS, processes: Math.max(1, workers) };
    const pauses = await redisPauses(redis, { prefix }).list();
    const input = {
      reports: [...jobs.reports.keys()].map((name) => requireReport(jobs, name)),
      orgs: [...jobs.orgs.values()],
      window,
      pauses: new Map(
        pauses.map((pause) => [pause.report === null ? pause.org : `${pause.org}/${pause.report}`, pause]),
      ),
      assumptions: assumed,
    };
    const forecasted = await makeForecast(input, {
      secrets: secretSource(env, context),
      cachedCatalog: (key, settings) => cachedCatalog(redis, `${prefix}:`, key, settings.org),
    });
    return { forecast: forecasted, assumptions: assumed };
  });
  const shown = select(all, flags);
  for (const file of new Set(jobs.diagnostics.map((one) => one.file)))
    print.printStatus(`skipped: ${file} is invalid; see \`docket check\``);
  for (const { name, slots, why } of shown.unplanned)
    print.printStatus(`not planned: ${name}, ${slots === 1 ? '1 slot' : `${slots} slots`}. ${why}`);
  if (shown.paused.length > 0) print.printStatus(`paused, without runs: ${shown.paused.join(', ')}`);
  if (flags.requireComplete && shown.unplanned.length + jobs.diagnostics.length > 0) io.exitCode = 1;
  if (flags.json) return print.printJson(documentOf(shown, window, assumptions));
  if (shown.runs.length === 0) {
    print.printLine('No slots to forecast.');
    return;
  }
  const times = timesFor(io, now, flags);
  const cellOf = (at: number, slot: number) => ({ exact: new Date(at).toISOString(), brief: formatDelay(at - slot) });
  print.printTable(
    COLUMNS,
    shown.runs.map(({ run, begun, ready, delivered, late }) => [
      instantCell(run.slot, times),
      run.name,
      String(run.calls.length),
      cellOf(begun, run.slot),
      cellOf(ready, run.slot),
      cellOf(delivered, run.slot),
      late ? 'late' : '-',
    ]),
    flags,
  );
  for (const key of shown.keys) {
    const { calls, windowMs } = key.limits;
    const full = key.fullAt === undefined ? 'no call waits' : `full at ${times.exact(key.fullAt)}`;
    const tokens = key.minutes.reduce((sum, minute) => sum + minute.tokens, 0);
    print.printText(
      `\nKey ${key.key} of ${key.organizations.join(', ')}: ${tokens} tokens, ${full}. A full bar is ${calls} in a minute${windowMs === 60_000 ? '' : `, the limit of ${windowMs / SECOND_MS} s`}.`,
    );
    for (const line of chartLines(key, zone)) print.printLine(line);
  }
  print.printText(`\n${formatAssumptions(assumptions)}`);
}

/** What the flags ask for. Runs of other organizations on the same key are simulated, too. */
function select({ runs, keys, unplanned, paused }: Forecast, { key, org }: ForecastFlags): Forecast {
  const isShown = (one: { readonly org: string; readonly key?: string }): boolean =>
    (org === undefined || one.org === org) && (key === undefined || one.key === undefined || one.key.startsWith(key));
  return {
    runs: runs.filter(({ run }) => isShown(run)),
    keys: keys.filter(
      (one) => (key === undefined || one.key.startsWith(key)) && (org === undefined || one.organizations.includes(org)),
    ),
    unplanned: unplanned.filter(isShown),
    paused: paused.filter((name) => org === undefined || name.startsWith(`${org}/`)),
  };
}

/** `+0:07`, `+13:05`, `+1:02:00`: after the slot. */
function formatDelay(ms: number): string {
  const all = Math.round(ms / SECOND_MS);
  const [hours, minutes, seconds] = [Math.floor(all / 3_600), Math.floor(all / 60) % 60, all % 60];
  const padded = (value: number) => String(value).padStart(2, '0');
  return hours === 0 ? `+${minutes}:${padded(seconds)}` : `+${hours}:${padded(minutes)}:${padded(seconds)}`;
}

const formatAssumptions = ({ processes, concurrency, callMs, renderMs, deliverMs }: ForecastAssumptions): string =>
  `Assumed: ${processes} × ${concurrency} runs at once; ${callMs / SECOND_MS} s a call, ${renderMs / SECOND_MS} s rendering, ${deliverMs / SECOND_MS} s delivery. Not counted: runs on demand, backfills, readings, corrections and failures.`;

/** The JSON document. Snake case, as the API and the manifest. */
const documentOf = (
  { runs, keys, unplanned, paused }: Forecast,
  { from, to }: ForecastWindow,
  { processes, concurrency, callMs, renderMs, deliverMs }: ForecastAssumptions,
) => ({
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
  assumptions: {
    processes,
    concurrency,
    call_seconds: callMs / SECOND_MS,
    render_seconds: renderMs / SECOND_MS,
    delivery_seconds: deliverMs / SECOND_MS,
  },
  runs: runs.map(runDocument),
  keys: keys.map(({ key, organizations, limits, minutes, fullAt }) => ({
    key,
    organizations,
    limit: limits.calls,
    window_seconds: limits.windowMs / SECOND_MS,
    tokens: minutes.reduce((sum, { tokens }) => sum + tokens, 0),
    full_at: isoInstantOrNull(fullAt ?? null),
    minutes: minutes.map(({ at, tokens }) => ({ at: new Date(at).toISOString(), tokens })),
  })),
  unplanned: unplanned.map(({ name, slots, why }) => ({ report: name, slots, why })),
  paused,
});

const runDocument = ({ run, begun, ready, delivered, late, tokens }: SimulatedRun) => ({
  report: run.name,
  key: run.key,
  slot: new Date(run.slot).toISOString(),
  calls: run.calls.length,
  prepared: run.calls.filter(({ preparedFrom }) => preparedFrom !== undefined).length,
  tokens,
  begins: new Date(begun).toISOString(),
  ready: new Date(ready).toISOString(),
  delivered: new Date(delivered).toISOString(),
  late_at: isoInstantOrNull(run.lateAt ?? null),
  late,
});
