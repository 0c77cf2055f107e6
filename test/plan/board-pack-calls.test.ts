import { beforeAll, describe, expect, test } from 'vitest';
import { loadDefinitions } from '../../src/compose/built-in-kinds.ts';
import { type Catalog, catalogSchema, isCurrentCount } from '../../src/contract/catalog.ts';
import type { Period } from '../../src/definitions/periods/period.ts';
import type { Definition } from '../../src/definitions/schema/report-definition.ts';
import { compilePlan } from '../../src/plan/compile.ts';
import { explain } from '../../src/plan/explain.ts';
import { NOW } from '../support/fetch-harness.ts';
import { inProcessSandbox } from '../support/in-process-sandbox.ts';
import {
  type Bucketing,
  bucketDays,
  bucketYearBefore,
  type Days,
  daysBefore,
  lengthOf,
  toDateDays,
  totalsYearBefore,
} from '../support/pack-oracle/days.ts';
import { definitionOf, type SectionInput, settingsOf } from '../support/reports.ts';

const ZONE = 'Europe/Zurich';
const OCTOBER: Period = { from: '2026-10-01', to: '2026-10-31', timezone: ZONE, label: '2026-10' };
const THIRTEEN: Period = { from: '2025-10-01', to: '2026-10-31', timezone: ZONE, label: '13 months' };
const OWN_PERIODS = { trend: THIRTEEN, exceptions: { ...OCTOBER, from: '2026-05-01', label: '6 months' } };
const YEAR: Period = { from: '2025-01-01', to: '2025-12-31', timezone: ZONE, label: '2025' };

let catalog: Catalog;
let board: Definition;
beforeAll(async () => {
  const { body } = await inProcessSandbox({ now: NOW }).get('/api/orgs/current/analytics/metrics/', 'acme');
  catalog = catalogSchema.parse(body);
  const { reports } = await loadDefinitions('jobs');
  const found = reports.get('demo/board-pack');
  if (found === undefined) throw new Error('no board pack');
  board = found;
});

const KPIS = [
  'profiles.created',
  'profiles.decided',
  'profiles.approval_rate',
  'profiles.time_to_decision_p50',
  'profiles.time_to_decision_p90',
];
const BOTH = ['previous_period', 'previous_year'] as const;
const scorecard: SectionInput = { id: 'scorecard', metrics: KPIS, totals: true, compare: [...BOTH], to_date: 'year' };

/** A needed figure: metrics over some days, optionally by bucket and group. */
interface Question {
  readonly metrics: readonly string[];
  readonly groups: readonly string[];
  readonly filters: string;
  readonly days: Days | 'now';
  readonly granularity: Bucketing | undefined;
  /** Whether its response also contains the previous period. */
  readonly compares: boolean;
  readonly rows: boolean;
}

/** Everything that a section needs, from its definition alone. */
function questionsOf(section: Definition['sections'][number], report: Definition, own: Days): Question[] {
  const { metrics, dimensions = [], granularity, filters = [], totals } = section;
  if (metrics === undefined) return [];
  const current = metrics.every((id) => catalog.metrics.some((metric) => metric.id === id && isCurrentCount(metric)));
  const base = { metrics, filters: JSON.stringify(filters) };
  const hasRows = dimensions.length > 0 || granularity !== undefined;
  const ask = (days: Question['days'], of: 'rows' | 'totals', compares = false): Question => ({
    ...base,
    days,
    groups: of === 'rows' ? dimensions : [],
    granularity: of === 'rows' ? granularity : undefined,
    rows: of === 'rows' && hasRows,
    compares,
  });
  if (current) return [ask('now', 'rows')];
  // A trend has only the comparisons that it sets itself.
  const { compare, to_date } = section.layout === 'trend' ? {} : report;
  const kinds = section.compare ?? compare ?? [];
  const toDate = section.to_date ?? to_date;
  const before = kinds.includes('previous_period');
  const found = [
    ...(hasRows ? [ask(own, 'rows', before)] : []),
    ...(totals || !hasRows ? [ask(own, 'totals', before)] : []),
  ];
  if (kinds.includes('previous_year')) {
    const whole = totalsYearBefore(own);
    const buckets = granularity === undefined ? [] : [...bucketDays(own, granularity)];
    const partners = buckets.flatMap(([start, days]) => bucketYearBefore(start, days, granularity ?? 'day') ?? []);
    const rows = granularity === undefined ? whole : { from: partners[0]?.from ?? '', to: partners.at(-1)?.to ?? '' };
    if (hasRows && rows !== undefined) found.push(ask(rows, 'rows'));
    if ((totals || !hasRows) && whole !== undefined) found.push(ask(whole, 'totals'));
  }
  if (toDate !== undefined) {
    const days = toDateDays(own, toDate);
    if (hasRows && granularity === undefined) found.push(ask(days, 'rows'));
    if (totals || !hasRows) found.push(ask(days, 'totals'));
  }
  if (section.trend !== undefined) {
    // Only the trend of the October report is supported.
    if (own.to !== OCTOBER.to || section.trend !== 13) throw new Error('another trend');
    found.push({ ...ask(daysOf(THIRTEEN), 'rows'), granularity: 'month', rows: true });
  }
  return found;
}

const piecesOf = (days: Question['days']): number => (days === 'now' ? 1 : Math.ceil(lengthOf(days) / 366));

const takesGroups = (id: string, groups: readonly string[]): boolean => {
  const metric = catalog.metrics.find((each) => each.id === id);
  return groups.every((group) => metric?.dimensions.includes(group));
};

/**
 * A lower bound for the number of calls. A call has one set of dimensions, filters and days, at most 20 metrics and 366
 * days. Totals come with the rows of the same days, and the previous period with a call that compares.
 */
function leastCalls(questions: readonly Question[]): number {
  const answered = new Set<string>();
  for (const { compares, days, filters } of questions) {
    if (compares && days !== 'now') answered.add(JSON.stringify([daysBefore(days), filters]));
  }
  const frames = new Map<string, { metrics: Set<string>; pieces: number }>();
  const rows = questions.filter((question) => question.rows);
  for (const question of questions) {
    const { groups, filters, days, granularity, metrics } = question;
    const carrier = question.rows
      ? undefined
      : rows.find(
          (row) =>
            row.filters === filters &&
            JSON.stringify(row.days) === JSON.stringify(days) &&
            metrics.every((metric) => takesGroups(metric, row.groups)),
        );
    if (carrier !== undefined) continue;
    // Figures in the response of a comparison need no call.
    const fits = granularity === undefined || granularity === 'month';
    if (!question.compares && fits && answered.has(JSON.stringify([days, filters]))) continue;
    const key = JSON.stringify([[...groups].sort(), filters, days, granularity]);
    const frame = frames.get(key) ?? { metrics: new Set(), pieces: piecesOf(days) };
    for (const metric of metrics) frame.metrics.add(metric);
    frames.set(key, frame);
  }
  return [...frames.values()].reduce((sum, { metrics, pieces }) => sum + Math.ceil(metrics.size / 20) * pieces, 0);
}

const daysOf = ({ from, to }: Days): Days => ({ from, to });

function callsOf(definition: Definition, period: Period, sectionPeriods: Readonly<Record<string, Period>> = {}) {
  const plan = compilePlan({ definition, settings: settingsOf(), period, sectionPeriods, catalog });
  const { tokens, naive_calls: naive, further_calls: further } = explain(plan, { catalog });
  const questions = definition.sections.flatMap((section) =>
    questionsOf(section, definition, daysOf(sectionPeriods[section.id] ?? period)),
  );
  return { planned: tokens, bound: leastCalls(questions), naive, further };
}

describe('calls of a board pack', () => {
  test('with a scorecard, 13 months, year before and year to date are at most 10% above the lower bound', () => {
    const calls = callsOf(board, OCTOBER, OWN_PERIODS);
    expect(calls.naive).toBeGreaterThan(2 * calls.planned);
    expect(calls.planned).toBeLessThanOrEqual(1.1 * calls.bound);
    expect(calls).toEqual({ planned: 15, bound: 14, naive: 74, further: { previous_year: 2, to_date: 1, trend: 0 } });
  });

  test('in which all sections have both comparisons and a year to date are at most 10% above the lower bound', () => {
    const sections = board.sections.map((section) =>
      section.list === undefined && section.granularity === undefined
        ? { ...section, to_date: 'year' as const }
        : section,
    );
    const definition = { ...board, compare: [...BOTH], sections };
    const calls = callsOf(definition, OCTOBER, OWN_PERIODS);
    expect(calls.planned).toBeLessThanOrEqual(1.1 * calls.bound);
    expect(calls).toEqual({ planned: 24, bound: 23, naive: 108, further: { previous_year: 9, to_date: 3, trend: 0 } });
  });

  // The scorecard makes its own call, although the totals of the months are the same figures.
  test('of a whole year do not include further calls for the year before, which is the previous period', () => {
    const months: SectionInput = { id: 'months', metrics: KPIS, granularity: 'month', totals: true };
    const risk: SectionInput = { id: 'risk', metrics: KPIS, dimensions: ['profile.risk'], totals: true };
    const definition = definitionOf([scorecard, months, risk], { compare: [...BOTH] });
    const calls = callsOf(definition, YEAR);
    expect(calls).toEqual({ planned: 3, bound: 2, naive: 15, further: { previous_year: 0, to_date: 0, trend: 0 } });
  });
});
