import { describe, expect, it } from 'vitest';
import type { Table } from '../../../src/fetch/dataset.ts';
import { messagesFor } from '../../../src/i18n/messages.ts';
import { formatZonedInstant } from '../../../src/render/figures/format-date.ts';
import { buildPack } from '../../../src/render/pack/build-pack.ts';
import { selectPaper } from '../../../src/render/pack/paper.ts';
import {
  bucketColumn,
  countColumn,
  dataset,
  groupColumn,
  nastyDataset,
  onboarding,
  ratioColumn,
  row,
  strangeColumn,
  table,
  typeColumn,
  workload,
} from '../../support/dataset.ts';
import { judged, kpis, months, monthTable, october, sectionOf, target } from './fixtures.ts';

const text = (change: Partial<Table> = {}): Table =>
  table({ id: 'comment', columns: [], rows: [], range: null, layout: { kind: 'text' }, ...change });

describe('a pack', () => {
  it('has organization, title, owner and period, and the paper of its locale', () => {
    const pack = buildPack(october([kpis()], { description: 'For the board.' }), {
      locale: 'de-CH',
      classification: 'Vertraulich',
    });
    expect(pack).toMatchObject({
      locale: 'de-CH',
      paper: 'a4',
      organization: 'Acme Compliance AG',
      title: 'Weekly compliance KPIs',
      description: 'For the board.',
      owner: 'ops@acme.example',
      classification: 'Vertraulich',
      period: { label: '2026-10' },
      periodText: 'Oktober 2026 (Europe/Zurich)',
      completeness: { complete: true, notes: [] },
    });
    expect(buildPack(october([]))).not.toHaveProperty('classification');
  });

  it('is complete so far while its period is running, as of its oldest response', () => {
    const running = kpis({ running: true, asOf: '2026-10-20T06:59:30Z' });
    const later = kpis({ running: true, asOf: '2026-10-20T09:00:00Z' });
    const at = formatZonedInstant(new Date('2026-10-20T06:59:30Z'), 'Europe/Zurich');
    const textOf = (tables: readonly Table[]) => buildPack(october(tables)).completeness;
    const { workbook } = messagesFor('en-GB');
    expect(textOf([later, running, text()])).toMatchObject({ complete: true, text: workbook.completeSoFar(at, []) });
    expect(workbook.completeSoFar(at, [])).toMatch(/^Complete so far, as of 20 October 2026/);
    // The running day may have no row. A current count says nothing about the days of the report.
    const current = { current: true, range: null, running: false, asOf: '2026-10-20T06:59:30Z' } as const;
    expect(textOf([kpis({ ...current })])).toMatchObject({ text: workbook.completeSoFar(at, []) });
    expect(textOf([kpis({ ...current, asOf: '2026-11-02T06:59:30Z' })])).toMatchObject({ text: workbook.complete });
    expect(textOf([kpis({ running: true, asOf: null })]).text).toBe(workbook.completeSoFar(undefined, []));
    // The last week of a finished month is cut off, and not running.
    expect(textOf([kpis({ running: true, asOf: '2026-11-02T06:59:30Z' })])).toMatchObject({ text: workbook.complete });
    const german = buildPack(october([running]), { locale: 'de-CH' }).completeness;
    expect(german.text).toMatch(/^Bisher vollständig, Stand: 20\. Oktober 2026/);
  });

  it('says in one line whether it is complete, and names the sections that are not', () => {
    const { completeness } = buildPack(nastyDataset());
    expect(completeness.complete).toBe(false);
    expect(completeness.text).not.toContain('\n');
    expect(completeness.notes.map(({ section, title }) => [section, title])).toEqual([
      ['groups', 'Profiles by group and type, with a title that no sheet name can hold'],
      ['weekly', 'durations'],
    ]);
    const [groups] = buildPack(nastyDataset()).sections.filter(({ table: { id } }) => id === 'groups');
    expect(groups?.warnings).toHaveLength(1);
    expect(groups?.notes).not.toContain(groups?.warnings[0]);
  });

  it('defines each metric, dimension and field once, with the sections that show it', () => {
    const { definitions } = buildPack(
      october([kpis(), months({ print: false, columns: [bucketColumn, strangeColumn, typeColumn] })]),
    );
    expect(definitions.map(({ column, sections, printed }) => [column.name, sections, printed])).toEqual([
      [countColumn.name, ['Key figures'], true],
      [ratioColumn.name, ['Key figures'], true],
      ['profiles.time_to_decision_p50', ['Key figures'], true],
      [strangeColumn.name, ['Four months'], false],
      [typeColumn.name, ['Four months'], false],
    ]);
    expect(definitions[0]).toMatchObject({ unit: 'count' });
    expect(definitions[0]?.notes).toHaveLength(2);
  });

  it('names all figures that are breached or on watch, breached first, each once', () => {
    const of = judged(october([kpis(), kpis({ id: 'again' }), months()]), [
      target({ metric: countColumn.name, target: 1300, watch: 1000 }),
      target({ metric: ratioColumn.name, target: '95%' }),
    ]);
    const { attention } = buildPack(of);
    expect(attention.map(({ status, section, metric }) => [status, section, metric])).toEqual([
      ['breached', 'kpis', ratioColumn.name],
      ['watch', 'kpis', countColumn.name],
    ]);
    expect(buildPack(october([kpis()])).attention).toEqual([]);
  });

  it('gives a section a takeaway that repeats no totals of the report, if headlines were written', () => {
    const targets = [target({ metric: ratioColumn.name, target: '95%' })];
    const total = judged(october([kpis(), months()], { headlines: [] }), targets);
    expect(buildPack(total).sections[0]).not.toHaveProperty('takeaway');
    const high = kpis({ filters: [{ label: 'Risk', is: ['High'] }] });
    const of = judged(october([high, months()], { headlines: [] }), [
      target({ metric: ratioColumn.name, target: '95%' }),
    ]);
    const [first, second] = buildPack(of).sections;
    expect(first?.takeaway).toContain('95.0%');
    expect(second).not.toHaveProperty('takeaway');
    const { headlines: _, ...unwritten } = of;
    expect(buildPack(unwritten).sections[0]).not.toHaveProperty('takeaway');
    const wanted = buildPack({ ...of, headlineMetrics: [countColumn.name] }).sections[0]?.takeaway;
    expect(wanted).toContain('1,204');
  });

  it('puts a chart where the definition places it, above its table by default', () => {
    const place = (chart: NonNullable<Table['chart']>) =>
      buildPack(dataset([{ ...onboarding, chart }])).sections[0]?.chart?.place;
    expect(place('line')).toBe('above');
    expect(place({ kind: 'line', place: 'beside' })).toBe('beside');
    expect(place({ kind: 'line', place: 'own_sheet' })).toBe('own_sheet');
    expect(buildPack(dataset([workload])).sections[0]).not.toHaveProperty('chart');
  });

  it('prints every section without `print: false`', () => {
    const { sections } = buildPack(october([kpis(), months({ print: false })]));
    expect(sections.map(({ printed }) => printed)).toEqual([true, false]);
  });

  it('explains colours when a metric has a better direction and changes are shown', () => {
    const plain = buildPack(october([kpis()])).sections[0]?.legend ?? [];
    const toned = buildPack(judged(october([kpis()]), [target({ metric: ratioColumn.name, target: '80%' })]));
    expect(toned.sections[0]?.legend).toHaveLength(plain.length + 1);
    expect(toned.sections[0]?.legend.at(-1)).toContain('Approval rate');
  });
});

describe('a text section', () => {
  it('has its description as paragraphs, and neither facts nor figures', () => {
    const of = october([text({ description: 'One\nparagraph.\n\n  \nAnother one.' })], {
      headlines: ['First.', 'Second.'],
    });
    const section = sectionOf(buildPack(of).sections, 'text');
    expect(section).toMatchObject({
      paragraphs: ['One paragraph.', 'Another one.'],
      facts: [],
      legend: [],
      columns: [],
    });
    expect(section).not.toHaveProperty('description');
    expect(section).not.toHaveProperty('empty');
  });

  it('is on the first page after the summary’s scorecard, if it is printed and short', () => {
    const scorecard = kpis({ layout: { kind: 'scorecard', groups: [] } });
    const short = text({ id: 'short', description: 'One.\n\nTwo.' });
    const remarksOf = (...tables: Table[]) => buildPack(october(tables)).remarks.map(({ of }) => of);
    expect(buildPack(october([scorecard, short])).remarks).toEqual([
      { of: 'short', title: short.title, paragraphs: ['One.', 'Two.'], comments: [] },
    ]);
    expect(remarksOf(short, months())).toEqual(['short']);
    expect(remarksOf(months(), short)).toEqual([]);
    expect(remarksOf(scorecard, months(), short)).toEqual([]);
    expect(remarksOf(scorecard, { ...short, print: false })).toEqual([]);
    expect(remarksOf(scorecard, text())).toEqual([]);
    expect(remarksOf(scorecard, text({ description: 'x'.repeat(1001) }))).toEqual([]);
  });

  it('says so when it has no text', () => {
    expect(sectionOf(buildPack(october([text()])).sections, 'text')).toMatchObject({ paragraphs: [] });
    expect(sectionOf(buildPack(october([text()])).sections, 'text').empty).toBeDefined();
  });
});

describe('input at the limits', () => {
  it('right-to-left names are isolated in sentences and plain where they stand alone', () => {
    const label = 'مجموعة العملاء';
    const columns = [{ ...countColumn, label }];
    const tables = ['one', 'two'].map((id, index) =>
      monthTable({
        id,
        title: label,
        columns: [{ ...columns[0]!, name: id }],
        rows: [row({ [id]: index })],
        layout: { kind: 'table' },
      }),
    );
    const pack = buildPack(october(tables));
    expect(pack.sections[0]?.title).toBe(label);
    const [first] = pack.summary?.scorecard.groups[0]?.rows ?? [];
    expect(first?.label).toBe(`\u2068${label}\u2069 (\u2068${label}\u2069)`);
    const alone = buildPack(october([kpis({ columns })])).summary?.scorecard.groups[0]?.rows[0];
    expect(alone?.label).toBe(label);
    expect(alone?.trendText?.startsWith(`\u2068${label}\u2069`)).toBe(true);
  });

  it('forty values of a dimension and labels of 200 characters stay unchanged', () => {
    const values = Array.from({ length: 40 }, (_, index) => ({
      value: `v${index}`,
      label: `${'Ä'.repeat(197)}${100 + index}`,
    }));
    const of = monthTable({
      id: 'wide',
      columns: [{ ...groupColumn, values }, countColumn],
      rows: values.map(({ value }, index) => row({ [groupColumn.name]: value, [countColumn.name]: index })),
    });
    const { cells, columns } = sectionOf(buildPack(october([of])).sections, 'table');
    const texts = (of.rows as readonly ReturnType<typeof row>[]).map((each) => cells.ofRow(columns[0]!, each).text);
    expect(texts).toEqual(values.map(({ label }) => label));
  });

  it('an empty section says why it has no figures, whatever its layout', () => {
    const layouts: readonly NonNullable<Table['layout']>[] = [
      { kind: 'table' },
      { kind: 'trend' },
      { kind: 'scorecard', groups: [] },
      { kind: 'exceptions', top: 20 },
    ];
    for (const layout of layouts) {
      const granularity = layout.kind === 'trend' ? 'month' : null;
      const empty = monthTable({
        id: 'empty',
        columns: [...(granularity === null ? [] : [bucketColumn]), countColumn],
        granularity,
        rows: [],
        layout,
      });
      const [section] = buildPack(october([empty])).sections;
      expect(section?.kind).toBe(layout.kind);
      expect(section?.empty, layout.kind).toBeDefined();
    }
    expect(buildPack(october([])).sections).toEqual([]);
  });

  it('a trend without a granularity is shown as a table', () => {
    const [section] = buildPack(october([kpis({ layout: { kind: 'trend' } })])).sections;
    expect(section?.kind).toBe('table');
  });

  it('metrics may have the names of object members, such as “constructor”', () => {
    const columns = ['constructor', '__proto__', 'toString'].map((name) => ({ ...countColumn, name, label: name }));
    const of = monthTable({ id: 'constructor', columns, rows: [row({})], layout: { kind: 'scorecard', groups: [] } });
    const rows = buildPack(october([of])).summary?.scorecard.groups[0]?.rows ?? [];
    expect(rows.map(({ figure }) => figure.text)).toEqual(['–', '–', '–']);
  });
});

describe('paper', () => {
  it.each([
    ['en-US', 'letter'],
    ['es-MX', 'letter'],
    ['fr-CA', 'letter'],
    ['en-GB', 'a4'],
    ['de-CH', 'a4'],
    ['de', 'a4'],
    ['en', 'a4'],
  ])('for the locale %s is %s', (locale, paper) => {
    expect(selectPaper(locale)).toBe(paper);
  });
});
