import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SourcedTarget } from '../../../src/definitions/schema/targets.ts';
import type {
  Column,
  Comparisons,
  Dataset,
  Judgement,
  MetricValues,
  Row,
  Table,
  TableLayout,
  Value,
} from '../../../src/fetch/dataset.ts';
import type { FilterDescription } from '../../../src/i18n/note.ts';
import { NOT_COMPARABLE_REASONS } from '../../../src/plan/like-for-like.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import type { ComparedFigure, Pack, PackFigure, PackSection, Scorecard } from '../../../src/render/pack/pack.ts';
import { bucketColumn, groupColumn, table } from '../../support/dataset.ts';
import { cases, least, within } from '../../support/fuzz.ts';
import { judged, MONTHS, OCTOBER, october, RANGE, SEPTEMBER, target } from './fixtures.ts';

const UNITS = ['count', 'ratio', 'seconds', 'chf'] as const;
const KINDS = ['previous_period', 'previous_year'] as const;

const metricColumn = fc
  .record({
    id: fc.integer({ min: 0, max: 11 }),
    label: fc.oneof(fc.constantFrom('Alerts', 'مجموعة', 'x'.repeat(200)), fc.string({ minLength: 1, maxLength: 12 })),
    provisional: fc.nat(3).map((of) => of === 0),
    now: fc.boolean(),
  })
  .map(
    ({ id, label, provisional, now }): Column => ({
      name: `metric.m${id}`,
      label,
      kind: 'metric',
      type: 'number',
      // One metric has one unit.
      unit: UNITS[id % UNITS.length] ?? 'count',
      ...(provisional ? { provisional } : {}),
      ...(now ? { counts: 'now' } : {}),
    }),
  );

/** At most eight decimals, because a change from the smallest number would be infinite. */
const decimal = (min: number, max: number) =>
  fc.double({ min, max, noNaN: true }).map((value) => Math.round(value * 1e8) / 1e8);
const figure = fc.option(fc.oneof(fc.integer({ min: 0, max: 5000 }), decimal(-1000, 1e6), decimal(0, 1)), {
  freq: 6,
});

const metricValues = (columns: readonly Column[]): fc.Arbitrary<MetricValues> =>
  fc
    .tuple(...columns.map(() => figure))
    .map((values) => Object.fromEntries(columns.map(({ name }, index) => [name, values[index] ?? null])));

/** Most figures are comparable. */
const mismatches = fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, fc.constantFrom(...NOT_COMPARABLE_REASONS));

const comparisonsOf = (columns: readonly Column[], kinds: readonly (typeof KINDS)[number][]) =>
  fc.tuple(...kinds.map(() => fc.tuple(metricValues(columns), mismatches))).map(
    (found): Comparisons =>
      Object.fromEntries(
        kinds.map((kind, index) => {
          const [values = {}, why = null] = found[index] ?? [];
          return [kind, { values, ...(why === null ? {} : { unlike: why }) }];
        }),
      ),
  );

interface Shape {
  readonly id: string;
  readonly keys: 'none' | 'months' | 'groups';
  readonly columns: readonly Column[];
  readonly kinds: readonly (typeof KINDS)[number][];
  readonly layout: 'table' | 'special' | 'exceptions';
  readonly totals: boolean;
  readonly toDate: boolean;
  /** The group that its filter selects; 'older': a filter with labels only, as 0.2.0 stored it. */
  readonly filter: string | null;
  readonly rows: number;
  readonly split: number;
}

const shape: fc.Arbitrary<Omit<Shape, 'id'>> = fc.record({
  keys: fc.constantFrom('none', 'months', 'groups'),
  columns: fc.uniqueArray(metricColumn, { minLength: 1, maxLength: 12, selector: ({ name }) => name }),
  kinds: fc.subarray([...KINDS]),
  layout: fc.constantFrom('table', 'special', 'exceptions'),
  totals: fc.boolean(),
  toDate: fc.boolean(),
  filter: fc.constantFrom(null, null, 'older', 'g0', 'g1'),
  rows: fc.integer({ min: 0, max: 12 }),
  split: fc.nat(12),
});

function layoutOf({ keys, layout, columns, split }: Shape): TableLayout {
  if (layout === 'table') return { kind: 'table' };
  if (keys === 'none') {
    const names = columns.map(({ name }) => name);
    return { kind: 'scorecard', groups: [{ title: 'Group', metrics: names.slice(0, split) }] };
  }
  return keys === 'months' && layout === 'special' ? { kind: 'trend' } : { kind: 'exceptions', top: 1 + split };
}

const filterOn = (group: string): FilterDescription =>
  group === 'older'
    ? { label: 'Risk', is: ['High'] }
    : { label: 'Risk', is: [group], of: { dimension: groupColumn.name, values: [group] } };

function tableArbitrary(of: Shape): fc.Arbitrary<Table> {
  const { keys, columns, kinds } = of;
  const count = keys === 'none' ? 1 : keys === 'months' ? Math.min(of.rows, MONTHS.length) : of.rows;
  const figures = fc.record({
    values: metricValues(columns),
    compare: comparisonsOf(columns, kinds),
    toDate: metricValues(columns),
    partial: fc.boolean(),
  });
  const range = keys === 'months' ? { from: '2026-07-01', to: OCTOBER.to } : RANGE;
  return fc
    .record({
      rows: fc.array(figures, { minLength: count, maxLength: count }),
      totals: figures,
      trend: fc.tuple(...columns.map(() => fc.array(figure, { minLength: MONTHS.length, maxLength: MONTHS.length }))),
    })
    .map(({ rows, totals, trend }) => {
      const layout = layoutOf(of);
      const key = (index: number): Row['values'] =>
        keys === 'none'
          ? {}
          : keys === 'months'
            ? { bucket: MONTHS[index]?.label ?? null }
            : { [groupColumn.name]: `g${index}` };
      const more = ({ compare, toDate, partial }: (typeof rows)[number]) => ({
        ...(kinds.length === 0 ? {} : { compare }),
        ...(of.toDate && keys !== 'months' ? { toDate } : {}),
        partial,
      });
      const keyColumns = keys === 'none' ? [] : keys === 'months' ? [bucketColumn] : [groupColumn];
      return table({
        id: of.id,
        title: `Section ${of.id}`,
        period: { ...OCTOBER, ...range },
        range,
        granularity: keys === 'months' ? 'month' : null,
        columns: [...keyColumns, ...columns],
        comparisons: kinds.map((kind) => ({ kind, range: SEPTEMBER })),
        ...(of.toDate ? { toDate: { unit: 'year', range: { from: '2026-01-01', to: OCTOBER.to } } } : {}),
        rows: rows.map((each, index) => ({ values: { ...key(index), ...each.values }, ...more(each) })),
        ...(of.totals ? { totals: { values: totals.values, ...more(totals) } } : {}),
        ...(layout.kind === 'scorecard'
          ? {
              trend: {
                granularity: 'month' as const,
                buckets: MONTHS,
                values: Object.fromEntries(columns.map(({ name }, index) => [name, trend[index] ?? []])),
              },
            }
          : {}),
        filters: of.filter === null ? [] : [filterOn(of.filter)],
        layout,
      });
    });
}

const targets: fc.Arbitrary<SourcedTarget[]> = fc.array(
  fc
    .record({
      id: fc.integer({ min: 0, max: 11 }),
      better: fc.constantFrom('higher' as const, 'lower' as const),
      amount: decimal(0, 2000),
      per: fc.option(fc.constantFrom('month' as const, 'week' as const)),
      group: fc.option(fc.integer({ min: 0, max: 3 })),
    })
    .map(({ id, better, amount, per, group }) =>
      target({
        metric: `metric.m${id}`,
        better,
        target: amount,
        ...(better === 'higher' ? { watch: amount / 2 } : { watch: amount * 2 + 1 }),
        ...(per === null ? {} : { per }),
        ...(group === null ? {} : { where: { [groupColumn.name]: `g${group}` } }),
      }),
    ),
  { minLength: 3, maxLength: 12 },
);

const packs: fc.Arbitrary<Dataset> = fc
  .array(shape, { minLength: 1, maxLength: 4 })
  .chain((shapes) => fc.tuple(...shapes.map((each, index) => tableArbitrary({ ...each, id: `s${index}` }))))
  .chain((tables) =>
    fc
      .record({
        targets,
        headlineMetrics: fc.option(fc.array(fc.integer({ min: 0, max: 11 }).map((id) => `metric.m${id}`))),
      })
      .map((of) =>
        judged(
          october(tables, {
            headlines: [],
            ...(of.headlineMetrics === null ? {} : { headlineMetrics: of.headlineMetrics }),
          }),
          of.targets,
        ),
      ),
  );

// The checks below compute what a pack must show without the functions that build it.

const num = (value: Value | undefined): number | null => (typeof value === 'number' ? value : null);

type Figures = Pick<Row, 'values' | 'compare' | 'toDate'>;

/** The change as figures.md §1 and §2 define it. */
function expectedChange({ unit, provisional, name }: Column, figures: Figures, kind: (typeof KINDS)[number]) {
  const compared = figures.compare?.[kind];
  const now = num(figures.values[name]);
  const before = num(compared?.values[name]);
  if (now === null || before === null || provisional === true || compared?.unlike !== undefined) return null;
  if (now === before) return 0;
  if (unit === 'ratio') return (now - before) * 100;
  if (unit === 'chf') return now - before;
  return before === 0 ? null : (now - before) / Math.abs(before);
}

const isOfTotals = ({ bucket, group }: Judgement): boolean => bucket === null && group === null;

/** The text shows the rounded value. */
function checkText({ value, text, quantity }: PackFigure): void {
  if (value === null) {
    expect(text).toBe('–');
    return;
  }
  const shown = Number(text.replaceAll(',', '').match(/-?\d+(\.\d+)?/)?.[0]);
  const seconds = { minutes: 60, hours: 3600, days: 86_400 };
  const scale =
    quantity.kind === 'duration'
      ? 1 / seconds[quantity.scale]
      : quantity.kind === 'ratio' || quantity.kind === 'relative'
        ? 100
        : 1;
  const decimals = (text.match(/\.(\d+)/)?.[1] ?? '').length;
  expect(Math.abs(shown - value * scale), text).toBeLessThanOrEqual(10 ** -decimals);
}

/** Compares the change with the dataset. closing-changes.test.ts compares it with the two shown figures. */
function checkChange(figure: PackFigure, { text, change, direction }: ComparedFigure): void {
  if (change.text === 'no visible change') {
    expect([figure.text, direction]).toEqual([text, null]);
    return;
  }
  const without = change.value !== null && change.value !== 0 && /^–$|times as|(minutes|hours|days)$/.test(change.text);
  if (without) expect(direction).toBe((change.value ?? 0) > 0 ? 'up' : 'down');
  else checkText(change);
}

/** The directions of the targets for the group of a section, or else of those for the whole. */
function bettersOf({ targets = [] }: Dataset, { filters }: Table, name: string): ReadonlySet<string> {
  const [filter] = filters;
  const group = filter !== undefined && 'is' in filter ? filter.of?.values[0] : undefined;
  const named = targets.filter(({ metric }) => metric === name);
  const own = named.filter(({ where }) => where !== undefined && group !== undefined && where.value === group);
  return new Set((own.length > 0 ? own : named.filter(({ where }) => where === undefined)).map(({ better }) => better));
}

function checkScorecard(scorecard: Scorecard, of: Dataset, met: Met): void {
  for (const row of scorecard.groups.flatMap(({ rows }) => rows)) {
    const { column, section } = row;
    const found = of.tables.find(({ id }) => id === section)!;
    const figures: Figures = found.totals ?? (found.rows as readonly Row[])[0]!;
    expect(row.figure.value).toBe(num(figures.values[column.name]));
    checkText(row.figure);
    scorecard.comparisons.forEach((kind, index) => {
      const compared = row.compared[index];
      expect(compared === undefined).toBe(!found.comparisons.some((each) => each.kind === kind));
      if (compared === undefined) return;
      expect(compared.value).toBe(num(figures.compare?.[kind]?.values[column.name]));
      const change = expectedChange(column, figures, kind);
      expect(compared.change.value).toBe(change);
      checkText(compared);
      checkChange(row.figure, compared);
      const betters = bettersOf(of, found, column.name);
      const [better] = betters;
      if (change !== null && change !== 0 && betters.size === 1) {
        const tone = change > 0 === (better === 'higher') ? 'better' : 'worse';
        expect(compared.tone).toBe(compared.change.text === 'no visible change' ? '' : tone);
        met.tones += 1;
      }
      if (betters.size !== 1 || change === 0) expect(compared.tone).toBe('');
      if (column.provisional === true) expect([compared.direction, compared.tone]).toEqual([null, '']);
    });
    if (row.toDate !== undefined) expect(row.toDate.value).toBe(num(figures.toDate?.[column.name]));
    const judgement = of.judgements?.find(
      (each) => each.section === section && each.metric === column.name && isOfTotals(each),
    );
    expect(row.status?.status).toBe(judgement?.status);
    expect(row.target?.value).toBe(judgement === undefined ? undefined : of.targets?.[judgement.target]?.target);
    if (judgement !== undefined) met.statuses += 1;
    const trend = found.trend?.values[column.name] ?? [];
    expect(row.trend.map(({ value }) => value)).toEqual(trend);
    expect(row.trend.map(({ bucket }) => bucket)).toEqual(trend.map((_, index) => MONTHS[index]?.label));
  }
}

function checkCells(section: PackSection, of: Dataset): void {
  const { table: found, columns, cells } = section;
  for (const row of found.rows as readonly Row[]) {
    for (const view of columns) {
      const cell = cells.ofRow(view, row);
      const { role, source, comparison } = view;
      if (role === 'value') expect(cell.value).toBe(num(row.values[source.name]));
      if (role === 'previous') expect(cell.value).toBe(num(row.compare?.[comparison!]?.values[source.name]));
      if (role === 'change') expect(cell.value).toBe(expectedChange(source, row, comparison!));
      const judgement = of.judgements?.find(
        (each) =>
          each.section === found.id &&
          each.metric === source.name &&
          !isOfTotals(each) &&
          each.bucket === (row.values.bucket ?? null) &&
          (each.group === null || each.group.value === row.values[each.group.dimension]),
      );
      expect(cell.status?.status).toBe(role === 'value' ? judgement?.status : undefined);
    }
  }
  for (const view of columns) {
    if (view.role === 'value') expect(cells.ofTotals(view)?.value).toBe(found.totals?.values[view.source.name]);
  }
}

function checkBlocks({ columns, ...section }: PackSection): void {
  if (section.kind !== 'table' && section.kind !== 'exceptions') return;
  const shown = section.blocks.flatMap(({ groups }) => groups.flatMap((group) => group.columns));
  expect([...(section.blocks[0]?.keys ?? []), ...shown]).toEqual(columns);
  for (const { groups } of section.blocks) {
    const size = groups.flatMap((group) => group.columns).length;
    expect(size).toBeGreaterThan(0);
    expect(size).toBeLessThanOrEqual(9);
    for (const group of groups) expect(group.headings).toHaveLength(group.columns.length);
  }
}

function checkSection(section: PackSection, of: Dataset, met: Met): void {
  const { table: found } = section;
  met[section.kind] += 1;
  checkCells(section, of);
  checkBlocks(section);
  if (section.kind === 'scorecard') checkScorecard(section.scorecard, of, met);
  if (section.kind === 'table' && section.scorecard !== undefined) checkScorecard(section.scorecard, of, met);
  if (section.kind === 'trend') {
    const rows = new Map((found.rows as readonly Row[]).map((row) => [row.values.bucket, row]));
    for (const { column, points } of section.panels) {
      expect(points.map(({ bucket }) => bucket)).toEqual(MONTHS.map(({ label }) => label));
      if (found.columns.some(({ name }) => name === column.name)) {
        for (const { bucket, value, partial } of points) {
          expect(value).toBe(num(rows.get(bucket)?.values[column.name]));
          expect(partial).toBe(rows.get(bucket)?.partial ?? false);
        }
      } else {
        // A breached figure of a scorecard that the section does not list.
        const breached = of.judgements?.flatMap(({ section: id, metric, status }) =>
          metric === column.name && status === 'breached' ? [id] : [],
        );
        const scorecards = of.tables.filter(({ id }) => breached?.includes(id));
        expect(scorecards.map(({ trend }) => trend?.values[column.name])).toContainEqual(
          points.map(({ value }) => value),
        );
      }
    }
  }
  if (section.kind === 'exceptions') {
    const whole = of.tables.find(({ id }) => id === found.id);
    const top = whole?.layout?.kind === 'exceptions' ? whole.layout.top : 0;
    expect(section.counts.of).toBe(whole?.rows.length);
    expect(found.rows).toEqual(section.rows.map(({ row }) => row));
    expect(new Set(found.rows as readonly Row[]).size).toBe(section.rows.length);
    const rank = { breached: 0, watch: 1, on_target: 2, undefined: 2 } as const;
    const ranks = section.rows.map(({ status }) => rank[status]);
    expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
    expect(ranks).not.toContain(2);
    const bad = new Set(
      of.judgements
        ?.filter(
          (each) => each.section === found.id && !isOfTotals(each) && ['breached', 'watch'].includes(each.status),
        )
        .map(({ bucket, group }) => group?.value ?? bucket),
    );
    expect(section.rows).toHaveLength(Math.min(top, bad.size));
    met.bad += section.rows.length;
  }
}

function checkSummary({ summary, sections }: Pack, of: Dataset, met: Met): void {
  const first = of.tables.find(({ layout }) => layout?.kind === 'scorecard');
  expect(summary?.of).toBe(first?.id);
  if (summary === undefined) return;
  checkScorecard(summary.scorecard, of, met);
  if (first !== undefined) {
    const section = sections.find(({ table: { id } }) => id === first.id);
    expect(section?.kind === 'scorecard' ? section.scorecard : undefined).toEqual(summary.scorecard);
    return;
  }
  const rows = summary.scorecard.groups.flatMap((group) => group.rows);
  const names = rows.map(({ column }) => column.name);
  if (of.headlineMetrics === undefined) {
    expect(rows.length).toBeLessThanOrEqual(8);
    expect(new Set(names).size).toBe(names.length);
    // The figures have no filters, or those that all sections share.
    const scopes = of.tables.map(({ filters }) => JSON.stringify(filters));
    for (const { section } of rows) {
      const { filters = [] } = of.tables.find(({ id }) => id === section) ?? {};
      if (filters.length > 0) expect(new Set(scopes).size).toBe(1);
    }
  } else expect(names).toEqual(of.headlineMetrics.filter((metric) => names.includes(metric)));
}

interface Met {
  statuses: number;
  tones: number;
  bad: number;
  table: number;
  scorecard: number;
  trend: number;
  exceptions: number;
  text: number;
}

test(
  'every figure, change, target, status and trend value of a pack equals that of its dataset',
  () => {
    const met: Met = { statuses: 0, tones: 0, bad: 0, table: 0, scorecard: 0, trend: 0, exceptions: 0, text: 0 };
    fc.assert(
      fc.property(packs, (of) => {
        const pack = buildPack(of);
        expect(pack.sections.map(({ table: { id } }) => id)).toEqual(of.tables.map(({ id }) => id));
        for (const section of pack.sections) checkSection(section, of, met);
        checkSummary(pack, of, met);
        for (const { section, metric, status } of pack.attention) {
          expect(
            of.judgements?.some((each) => each.section === section && each.metric === metric && each.status === status),
          ).toBe(true);
        }
        // The language changes texts only.
        const german = buildPack(of, { locale: 'de-CH' });
        expect(german.summary?.scorecard.groups.flatMap(({ rows }) => rows.map((row) => row.figure.value))).toEqual(
          pack.summary?.scorecard.groups.flatMap(({ rows }) => rows.map((row) => row.figure.value)),
        );
      }),
      cases(300),
    );
    for (const [what, count] of Object.entries(met)) {
      if (what !== 'text') expect(count, what).toBeGreaterThanOrEqual(least(20));
    }
  },
  within(20),
);
