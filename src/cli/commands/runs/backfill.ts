import { randomBytes } from 'node:crypto';
import { formatCounted } from '../../../admin/page/components/format-numbers.ts';
import { DocketError, toDocketError } from '../../../base/error.ts';
import { withScope } from '../../../base/scope.ts';
import { secretSource } from '../../../base/secrets/secret.ts';
import { MINUTE_MS } from '../../../base/time.ts';
import { loadDefinitions, requireReport } from '../../../compose/built-in-kinds.ts';
import { findCatalog } from '../../../compose/catalogs.ts';
import { openVerifiedStore } from '../../../compose/store.ts';
import type { Catalog } from '../../../contract/catalog.ts';
import { parsePeriod, resolveRunPeriods } from '../../../definitions/periods/period.ts';
import type { PeriodSpec } from '../../../definitions/schema/report-definition.ts';
import { assertMailConfigured } from '../../../deliver/targets/email/mail-routes.ts';
import type { BudgetLimits } from '../../../fetch/rate-limit/budget.ts';
import { type CurrentCountsSection, currentCountsSections } from '../../../plan/requests/section-requests.ts';
import type { FrozenDefinition } from '../../../queue/definitions/definition-store.ts';
import { backfillPeriods } from '../../../run/backfill-periods.ts';
import { limitsOfKey } from '../../../services/budgets/key-limits.ts';
import { planRun } from '../../../services/definitions/plan-run.ts';
import { requestRun } from '../../../services/runs/trigger-run.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { readActorName } from '../../options/actor.ts';
import { invalidOption } from '../../options/option-parsers.ts';
import { createPrinter } from '../../terminal/print.ts';
import { openProgressBars } from '../../terminal/progress-bar.ts';
import { isTerminal } from '../../terminal/style.ts';
import { idCells, stateCell } from '../../terminal/table/cell.ts';

export interface BackfillFlags {
  readonly from: string;
  readonly to: string;
  readonly deliver?: boolean;
  readonly again?: boolean;
  readonly yes?: boolean;
  readonly by?: string;
  readonly wide?: boolean;
  readonly json?: boolean;
}

/** A period that another run has already delivered. */
interface SkippedPeriod {
  readonly period: Extract<PeriodSpec, object>;
  readonly delivered: object | undefined;
  /** A single sentence. */
  readonly why: string;
}

/** Enqueues one run for each period, and prints the runs. */
export async function backfill(report: string, flags: BackfillFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const definitions = await loadDefinitions(context.config.DOCKET_JOBS);
  const { definition, settings } = requireReport(definitions, report);
  const { deliver = false, again = false } = flags;
  if (deliver) assertMailConfigured(definition, settings, context.config);
  const { from } = parseCalendarPeriod('--from', flags.from);
  const { to } = parseCalendarPeriod('--to', flags.to);
  const periods = backfillPeriods({ definition, settings, from, to, now: context.clock.now() });
  const by = readActorName(flags.by);
  const suffix = `${deliver ? ':deliver' : ''}${again ? `:${randomBytes(6).toString('hex')}` : ''}`;
  await withScope(async (scope) => {
    const { trigger, redis, prefix, audit } = await openVerifiedStore(context, scope);
    const candidates = currentCountsSections(definition, undefined, settings.readings);
    const catalog = await findCatalog(context, { redis, prefix, orgs: () => definitions.orgs }, settings, scope);
    const cost = {
      runs: periods.length,
      calls: catalog && countCalls({ definition, settings }, periods, catalog, context.clock.now()),
      limits: await limitsOfKey(settings, definitions.orgs.values(), secretSource(context.env, context)),
    };
    await confirmBackfill(report, cost, flags, io);
    const counts = catalog === undefined ? candidates : currentCountsSections(definition, catalog, settings.readings);
    const known = catalog !== undefined || candidates.length === 0;
    if (counts.length > 0) print.printStatus(formatUndefinedCounts(counts, known));
    const bars = scope.add(openProgressBars(io));
    const bar = bars.add(report);
    const runs = [];
    const skipped: SkippedPeriod[] = [];
    for (const period of periods) {
      bar.set(runs.length + skipped.length, periods.length, `opening ${period.from} to ${period.to}`);
      const slot = { trigger: `backfill:${period.from}..${period.to}${suffix}` };
      const kind = { trigger: 'backfill', priority: 'backfill' } as const;
      const request = { definition, settings, slot, ...kind, period, deliver, again, by };
      const triggered = await requestRun(request, { trigger, audit }, { why: 'backfill' }).catch((thrown: unknown) => {
        const { code, delivered, message } = toDocketError(thrown);
        if (code !== 'already_delivered') throw thrown;
        skipped.push({ period, delivered, why: message });
      });
      if (!triggered) continue;
      const { opened, record } = triggered;
      runs.push({ id: record.id, period: record.period, state: record.state, opened });
    }
    bars.close();
    if (flags.json) {
      const undefinedCounts = { known, sections: counts };
      const deliveredBefore = skipped.map(({ period, delivered }) => ({ period, delivered }));
      return print.printJson({
        report,
        deliver,
        undefined_counts: undefinedCounts,
        runs,
        already_delivered: deliveredBefore,
      });
    }
    const idCell = idCells(runs.map(({ id }) => id));
    print.printTable(
      [
        'PERIOD',
        { name: 'STATE', whenNarrow: 'keep' },
        { name: 'OPENED', whenNarrow: 'drop' },
        { name: 'RUN', whenNarrow: 'keep' },
      ],
      runs.map(({ period, state, opened, id }) => [
        period.label,
        stateCell(state),
        opened ? 'now' : 'before',
        idCell(id),
      ]),
      flags,
    );
    for (const { why } of skipped) print.printStatus(`Skipped: ${why}`);
    if (skipped.length > 0) print.printStatus('Skipped periods were delivered before; --again sends them as well.');
    const opened = runs.filter((run) => run.opened).length;
    print.printStatus(`New runs: ${opened} of ${runs.length}. \`docket runs --org ${definition.org}\` lists them.`);
  });
}

/** The metrics calls of all runs. Undefined if one of them cannot be planned; that run will fail with its own error. */
function countCalls(
  frozen: FrozenDefinition,
  periods: readonly SkippedPeriod['period'][],
  catalog: Catalog,
  now: number,
): number | undefined {
  try {
    return periods
      .map(
        (period) =>
          planRun(frozen, resolveRunPeriods(frozen.definition, frozen.settings, now, period), catalog, now).tokens,
      )
      .reduce((sum, tokens) => sum + tokens, 0);
  } catch (thrown) {
    if (toDocketError(thrown).code === 'internal.defect') throw thrown;
    return undefined;
  }
}

/** @param known whether a catalog said which sections contain current counts */
function formatUndefinedCounts(counts: readonly CurrentCountsSection[], known: boolean): string {
  const sections = counts.map(({ section, metrics }) => `${section} (${metrics.join(', ')})`).join('; ');
  return known
    ? `Current counts have no history. They are undefined in every run of this backfill: ${sections}.`
    : `Current counts have no history. They are undefined in every run of this backfill. Without a metric catalog their sections are unknown; candidates: ${sections}.`;
}

/**
 * The days of a calendar period. Throws `usage.invalid`, also for names such as previous_week, which depend on the
 * current day.
 */
function parseCalendarPeriod(option: string, text: string): Extract<PeriodSpec, object> {
  let spec: PeriodSpec | undefined;
  try {
    spec = parsePeriod(text);
  } catch {
    spec = undefined;
  }
  if (typeof spec === 'object') return spec;
  throw invalidOption(
    option,
    text,
    'a day, week, month, quarter or year: 2026-01-31, 2026-W05, 2026-01, 2026-Q1 or 2026',
  );
}

/** A backfill of up to this many runs needs no confirmation. */
const MAX_UNASKED = 20;

interface BackfillCost {
  readonly runs: number;
  /** Metrics calls; undefined without a metric catalog. */
  readonly calls: number | undefined;
  /** Limits of the API key. */
  readonly limits: BudgetLimits;
}

/**
 * Prints the cost of a backfill on stderr. Above 20 runs, asks for confirmation; without a terminal, or with `json`,
 * `yes` is required instead. Throws `usage.invalid`, and `run.cancelled` if the answer is no.
 */
async function confirmBackfill(
  report: string,
  cost: BackfillCost,
  { yes = false, json = false }: { readonly yes?: boolean | undefined; readonly json?: boolean | undefined },
  io: CommandIo,
): Promise<void> {
  const text = describeCost(cost);
  createPrinter(io).printStatus(`${report}: ${text}`);
  if (yes || cost.runs <= MAX_UNASKED) return;
  if (json || io.stdin.isTTY !== true || !isTerminal(io.stderr, io.env)) {
    throw new DocketError('usage.invalid', `A backfill of more than ${MAX_UNASKED} runs needs --yes.`, {
      where: '--from, --to',
      expected: `--yes, or at most ${MAX_UNASKED} runs`,
      got: text,
      next: 'Nothing was enqueued. Add --yes, or choose a shorter range.',
    });
  }
  const { confirm, isCancel } = await import('@clack/prompts');
  const answer = await confirm({
    message: `Enqueue ${cost.runs} runs?`,
    initialValue: false,
    input: io.stdin,
    output: io.stderr,
  });
  if (answer === true) return;
  // During a prompt, Ctrl-C is a key, not a signal.
  if (isCancel(answer)) io.exitCode = 130;
  throw new DocketError('run.cancelled', 'Nothing was enqueued.', {
    next: 'Choose a shorter range, or give --yes to enqueue them without a prompt.',
  });
}

/** `352 runs, up to 1,408 calls, about 47 minutes at 30 calls in 60 s`. */
function describeCost({ runs, calls, limits }: BackfillCost): string {
  const { calls: perWindow, windowMs } = limits;
  if (calls === undefined)
    return `${formatCounted(runs, 'run')}; calls and minutes are unknown without a metric catalog.`;
  const minutes = Math.ceil((Math.ceil(calls / perWindow) * windowMs) / MINUTE_MS);
  return `${formatCounted(runs, 'run')}, up to ${formatCounted(calls, 'call')}, about ${formatCounted(minutes, 'minute')} at ${perWindow} calls in ${windowMs / 1000} s.`;
}
