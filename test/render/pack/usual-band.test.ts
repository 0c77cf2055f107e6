import { describe, expect, it } from 'vitest';
import type { Column, Table } from '../../../src/fetch/dataset.ts';
import { sparklinePath } from '../../../src/render/charts/sparkline.ts';
import { renderEmail } from '../../../src/render/email/render-email.ts';
import { figureReferences } from '../../../src/render/figures/comments/references.ts';
import { headlineFigures, usualFigures } from '../../../src/render/figures/headline-figures.ts';
import { buildHeadlines } from '../../../src/render/figures/headlines.ts';
import { packData } from '../../../src/render/formats/pdf/data/pack-data.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import { bucketColumn, countColumn, durationColumn, MADE_AT, ratioColumn, row, table } from '../../support/dataset.ts';
import { readParts } from '../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../support/render-folder.ts';
import { monthTable, OCTOBER, october, sectionOf } from './fixtures.ts';

const COUNT = countColumn.name;
/** A mean of 106 and a width of 12.57: see the test of the range. */
const EARLIER = [104, 108, 106, 112, 104, 110, 108, 104, 110, 102, 104, 100];
const MONTHS = Array.from({ length: 13 }, (_, index) =>
  new Date(Date.UTC(2025, 9 + index, 1)).toISOString().slice(0, 10),
);
const card = (value: number, points: readonly number[] = EARLIER): Table =>
  monthTable({
    id: 'kpis',
    title: 'Key figures',
    layout: { kind: 'scorecard', groups: [] },
    columns: [countColumn],
    rows: [row({ [COUNT]: value })],
    trend: {
      granularity: 'month',
      buckets: MONTHS.slice(-1 - points.length).map((label) => ({ label, partial: false })),
      values: { [COUNT]: [...points, value] },
    },
  });
const year = (change: Partial<Table> = {}): Table => {
  const range = { from: '2025-10-01', to: '2026-10-31' };
  return table({
    id: 'months',
    title: 'Months',
    period: { ...OCTOBER, ...range },
    range,
    granularity: 'month',
    columns: [bucketColumn, countColumn, ratioColumn, { ...durationColumn, shownIn: 'hours' }],
    rows: MONTHS.map((bucket, index) =>
      row({
        bucket,
        [COUNT]: [...EARLIER, 160][index] ?? 0,
        [ratioColumn.name]: index % 2 === 0 ? 0.86 : 0.88,
        [durationColumn.name]: 3_600 * (20 + (index % 2)),
      }),
    ),
    layout: { kind: 'trend' },
    ...change,
  });
};
const small = { small: 10 };
const packOf = (of: Table, locale = 'en-GB') => buildPack(october([of], small), { locale });
const mailOf = async (of: Table, locale = 'en-GB') =>
  renderEmail(october([of], small), [], { run: 'r'.repeat(32), madeAt: MADE_AT, locale });
const saidIn = (of: Table, locale?: string) =>
  sectionOf(packOf(of, locale).sections, 'scorecard').scorecard.groups[0]?.rows[0]?.usual;

describe('a figure with a usual range', () => {
  it.each([
    [110, 'usual 94–118', 'üblich 94–118'],
    [160, 'outside its usual range 94–118', 'ausserhalb des üblichen Bereichs 94–118'],
    [93, 'drifting, usual 94–118', 'driftet, üblich 94–118'],
  ])('says in words where %s is in its range', async (value, english, german) => {
    expect(saidIn(card(value))).toBe(english);
    expect(saidIn(card(value), 'de-DE')).toBe(german);
    const { html, text } = await mailOf(card(value));
    expect(text).toContain(`${countColumn.label}: ${value} [${english}]`);
    // In words, without a colour: once in the tile or its row.
    expect(html).toContain(english);
    expect(html).not.toMatch(new RegExp(`class="[^"]*(?:better|worse|breached|watch)[^"]*">${english}`));
    expect((await mailOf(card(value), 'de-DE')).text).toContain(german);
  });

  it('says nothing about a range without twelve earlier figures', async () => {
    const short = card(160, EARLIER.slice(1));
    expect(saidIn(short)).toBeUndefined();
    expect((await mailOf(short)).text).not.toMatch(/usual/);
    expect(sectionOf(packOf(short).sections, 'scorecard').scorecard.hasRanges).toBe(false);
  });

  it('states the unit of its range once, with the decimals of its kind of figure', () => {
    const texts = sectionOf(packOf(year()).sections, 'trend').panels.map(({ band }) => band?.text);
    expect(texts).toEqual(['outside its usual range 94–118', 'usual 81.7–92.3%', 'usual 17.8–23.2 hours']);
  });
});

describe('the range of a figure', () => {
  const data = october([card(160)], small);

  it('is in the manifest as numbers, with the headline that mentions it', () => {
    const headlines = buildHeadlines(headlineFigures(data, 'en'), undefined, 'en');
    const range = { section: 'kpis', metric: COUNT, value: 160, low: 94, high: 118, state: 'unusual' };
    expect(usualFigures({ ...data, headlines }, 'en')).toEqual([{ ...range, headline: 0 }]);
    expect(usualFigures({ ...data, headlines: ['Another.'] }, 'en')).toEqual([range]);
    expect(usualFigures(october([card(160, EARLIER.slice(1))], small), 'en')).toEqual([]);
  });

  it('can be quoted in a comment', () => {
    expect(figureReferences(data, 'en').get(`kpis.${COUNT}.range`)?.text).toBe('outside its usual range 94–118');
  });
});

describe('a small chart of a trend', () => {
  const panels = (of: Table) => sectionOf(packOf(of).sections, 'trend').panels;
  const rows = year().rows as readonly ReturnType<typeof row>[];

  it('shows the range of its last figure as a band, and names it in its description', () => {
    const [count] = panels(year());
    expect(count?.band).toMatchObject({ low: 94, high: 118, from: 0 });
    expect(count?.description).toBe(
      'Profiles created: from 104 (Oct 2025) to 160 (Oct 2026); outside its usual range 94–118',
    );
    expect(sectionOf(packOf(year()).sections, 'trend').legend).toContain(
      'Grey band: the usual range of the last figure, from the twelve before it.',
    );
  });

  it('has no band in a short trend, or when its last period is cut off', () => {
    expect(
      panels(year({ rows: rows.slice(1), range: { from: '2025-11-01', to: '2026-10-31' } }))[0]?.band,
    ).toBeUndefined();
    expect(panels(year({ range: { from: '2025-10-01', to: '2026-10-30' } }))[0]?.band).toBeUndefined();
  });

  const of = (column: Partial<Column>): Partial<Table> => ({ columns: [bucketColumn, { ...countColumn, ...column }] });
  const from = { id: 'old', label: 'Old' };
  const replaced = { id: 'replaced', of: { from, to: { id: COUNT, label: countColumn.label } } } as const;
  it.each<[string, Partial<Table>]>([
    ['a gap among its twelve earlier figures', { rows: rows.filter((_, index) => index !== 5) }],
    ['a metric that replaced another one', { notes: [{ code: 'deprecated', message: replaced, incomplete: false }] }],
    ['a metric that is replaced', of({ replacedBy: 'profiles.made' })],
    ['data that begins after the first of those figures', of({ availableFrom: '2025-10-15' })],
    ['a metric whose past figures still change', of({ provisional: true })],
  ])('has no band for %s', (_, change) => {
    expect(panels(year(change))[0]?.band).toBeUndefined();
  });

  it('has the narrowest band for figures that never changed', () => {
    const constant = MONTHS.map((bucket) => row({ bucket, [COUNT]: 40 }));
    expect(panels(year({ ...of({}), rows: constant }))[0]?.band).toMatchObject({
      low: 39,
      high: 41,
      text: 'usual 39–41',
    });
  });

  it('has its band in the PDF on the scale of its columns or its line', () => {
    const data = october([year()], small);
    const [count, rate] =
      packData(buildPack(data, { locale: 'en' }), data, {
        ...{ run: 'r'.repeat(32), digest: 'd'.repeat(64), madeAt: MADE_AT, formats: ['pdf'] },
      }).sections[0]?.panels ?? [];
    expect(count?.band).toEqual({ low: 94 / 200, high: 118 / 200, from: 0, text: 'outside its usual range 94–118' });
    expect(count?.line).toBeNull();
    expect(rate?.line?.band?.low).toBeLessThan(Math.min(...(rate?.line?.points.map(({ at }) => at ?? 1) ?? [])));
  });

  it('has its band in the e-mail behind the line', () => {
    const points = [...EARLIER, 160].map((value) => ({ value, partial: false }));
    const { area } = sparklinePath(points, 220, 40, { low: 94, high: 118, from: 0 });
    // 160 is at the top (2), 94 at the bottom (38).
    expect(area).toEqual({ x: 2, y: 24.91, width: 216, height: 13.09 });
  });
});

describe('a workbook', () => {
  const { render } = useRenderFolder();

  it('has a column of usual ranges, and lines at their limits in trend charts', async () => {
    const artifacts = await render(october([card(110), year()], small), [{ format: 'xlsx' }]);
    const parts = readParts(artifactNamed(artifacts, '.xlsx').path);
    const strings = parts.get('xl/sharedStrings.xml') ?? '';
    expect(strings).toContain('>Usual range<');
    expect(strings).toContain('>usual 94–118<');
    const charts = [...parts].filter(([name]) => /charts\/chart\d+\.xml$/.test(name));
    const lines = charts.map(([, xml]) => /<c:lineChart>.*<\/c:lineChart>/.exec(xml)?.[0].match(/<c:ser>/g)?.length);
    // The rate is a line itself.
    expect(lines).toEqual([2, 3, 2]);
  });
});
