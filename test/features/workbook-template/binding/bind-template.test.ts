import { describe, expect, it } from 'vitest';
import { bindTemplate } from '../../../../src/features/workbook-template/binding/bind-template.ts';
import { outlineOfDataset, outlineOfDefinition } from '../../../../src/features/workbook-template/binding/outline.ts';
import { nameText } from '../../../../src/features/workbook-template/binding/target-text.ts';
import { parseRange } from '../../../../src/features/workbook-template/workbook/addresses.ts';
import type {
  DefinedName,
  TemplateTable,
  TemplateWorkbook,
} from '../../../../src/features/workbook-template/workbook/workbook.ts';
import { dataset, onboarding, workload } from '../../../support/dataset.ts';
import { CATALOG, definitionOf, type SectionInput } from '../../../support/reports.ts';

const range = (text: string) => parseRange(text) ?? expect.fail(text);

/** A table from B4 on, with two rows of data. @param headers a header with `=` has a formula, so its column is calculated */
const table = (name: string, headers: readonly string[], more: Partial<TemplateTable> = {}): TemplateTable => ({
  part: `xl/tables/${name}.xml`,
  sheet: 'Board',
  name,
  range: { from: { row: 4, column: 2 }, to: { row: 6, column: 1 + headers.length } },
  headerRows: 1,
  totalsRows: 0,
  columns: headers.map((text) => {
    const [header = '', formula] = text.split('=');
    return { header, ...(formula === undefined ? {} : { formula }) };
  }),
  ...more,
});

const name = (text: string, cells?: string): DefinedName => ({
  name: text,
  scope: null,
  formula: cells === undefined ? '#REF!' : `Front!${cells}`,
  ...(cells === undefined ? {} : { target: { sheet: 'Front', range: range(cells) } }),
});

const workbook = (tables: readonly TemplateTable[], names: readonly DefinedName[] = []): TemplateWorkbook => ({
  sheets: [
    { name: 'Front', part: 'xl/worksheets/sheet1.xml', kind: 'worksheet' },
    { name: 'Board', part: 'xl/worksheets/sheet2.xml', kind: 'worksheet' },
    { name: 'Chart', part: 'xl/chartsheets/sheet1.xml', kind: 'chartsheet' },
  ],
  tables,
  names,
  date1904: false,
  macros: false,
});

const KPIS: SectionInput = {
  id: 'kpis',
  metrics: ['profiles.created', 'profiles.approval_rate'],
  dimensions: ['profile.type'],
  totals: true,
};
/** The problems in a report that fails when figures are missing. */
const problemsOf = (sections: readonly SectionInput[], book: TemplateWorkbook) =>
  bindTemplate(book, outlineOfDefinition(definitionOf(sections, { on_incomplete: 'fail' }), CATALOG)).problems.map(
    ({ severity, code, at, got }) => [severity, code, at === undefined ? '' : `${at.sheet}!${at.cell}`, got] as const,
  );
const KPI_HEADERS = ['profile.type', 'profiles.created', 'profiles.approval_rate'];

describe('the tables of a template', () => {
  it('bind by section id, with `_` for `-` and in any case, or by alternative text', () => {
    const sections = ['a-b', 'q1', 'c'].map((id) => ({ ...KPIS, id }));
    const tables = [
      table('A_B', KPI_HEADERS),
      table('Quarter', KPI_HEADERS, { title: ' Docket: Q1 ' }),
      table('c', KPI_HEADERS),
      table('own', ['x']),
    ];
    const { tables: bound, problems } = bindTemplate(
      workbook(tables),
      outlineOfDefinition(definitionOf(sections, { on_incomplete: 'fail' }), CATALOG),
    );
    expect(bound.map((each) => [each.table.name, each.section])).toEqual([
      ['A_B', 'a-b'],
      ['Quarter', 'q1'],
      ['c', 'c'],
    ]);
    expect(problems).toEqual([]);
  });

  it('are ambiguous if two sections match the name, unless alternative text tells them apart', () => {
    const sections = ['a-b', 'a_b'].map((id) => ({ ...KPIS, id }));
    expect(problemsOf(sections, workbook([table('a_b', KPI_HEADERS)]))[0]?.slice(0, 3)).toEqual([
      'error',
      'workbook.ambiguous',
      'Board!B4:D6',
    ]);
    const titled = sections.map(({ id }, index) => table(`t${index}`, KPI_HEADERS, { title: `docket:${id}` }));
    expect(problemsOf(sections, workbook(titled))).toEqual([]);
  });

  it('have errors at headers for figures that the report does not have', () => {
    const headers = [...KPI_HEADERS, 'profiles.created.previous_year', 'profiles.opened', 'Own', 'Share=1/2'];
    expect(problemsOf([KPIS], workbook([table('kpis', headers)]))).toEqual([
      ['error', 'workbook.unknown', 'Board!E4', '"profiles.created.previous_year"'],
      ['error', 'workbook.unknown', 'Board!F4', '"profiles.opened"'],
    ]);
  });

  it('are rejected if the alternative text names no section, the section is a text, or no column is bound', () => {
    const text: SectionInput = { id: 'intro', layout: 'text', description: 'Hello' };
    const tables = [
      table('x', KPI_HEADERS, { title: 'docket:kpi' }),
      table('intro', ['profile.type']),
      table('kpis', ['A=1', 'B=2']),
    ];
    expect(problemsOf([KPIS, text], workbook(tables)).map(([severity, code, at]) => [severity, code, at])).toEqual([
      ['error', 'workbook.unknown', 'Board!B4:D6'],
      ['error', 'workbook.unknown', 'Board!B4:B6'],
      ['error', 'workbook.unknown', 'Board!B4:C6'],
      ['warning', 'workbook.unused', ''],
    ]);
  });

  it('cause a warning if the name is almost that of a section without a table', () => {
    const warned = (...names: string[]) =>
      problemsOf([KPIS], workbook(names.map((each) => table(each, KPI_HEADERS)))).filter(
        ([, code]) => code === 'workbook.unknown',
      );
    expect(warned('kpsi', 'Forecast')).toEqual([
      ['warning', 'workbook.unknown', 'Board!B4:D6', '"kpsi", whose rows stay as they are'],
    ]);
    expect(warned('kpis', 'kpis2')).toEqual([]);
  });

  it('cause a warning for figures that are shown nowhere', () => {
    const other: SectionInput = { id: 'other', metrics: ['screening.hits'] };
    const list: SectionInput = { id: 'roster', list: 'profiles' };
    const sections = [KPIS, other, list];
    const book = workbook(
      [table('kpis', KPI_HEADERS.slice(0, 2)), table('roster', ['id', 'review_status', 'anything.else'])],
      [name('docket.kpis.profiles.created', 'A1')],
    );
    expect(problemsOf(sections, book).map(([severity, code, , got]) => [severity, code, got])).toEqual([
      ['warning', 'workbook.unused', 'profiles.approval_rate'],
      ['warning', 'workbook.unused', expect.anything()],
    ]);
  });

  it('cause warnings if cells for completeness, approval, comments or corrections are missing', () => {
    const commented = { ...KPIS, commentary: 'optional' } as const;
    const definition = definitionOf([commented], { approval: { by: ['a@acme.example'] } as never });
    const outline = outlineOfDefinition(definition, CATALOG);
    const tables = [table('kpis', KPI_HEADERS)];
    expect(bindTemplate(workbook(tables), outline).problems.map(({ expected }) => expected)).toEqual([
      'a cell named docket.completeness',
      'a cell named docket.approval',
      'a cell named docket.comment.kpis',
    ]);
    const names = [name('docket.completeness', 'A3'), name('docket.approval', 'A1'), name('DOCKET.Comment.KPIS', 'A2')];
    expect(bindTemplate(workbook(tables, names), outline).problems).toEqual([]);
  });
});

describe('the names of a template', () => {
  const outline = outlineOfDataset(dataset([onboarding, workload]));
  const bind = (...names: readonly DefinedName[]) => bindTemplate(workbook([], names), outline);
  const errors = (...names: readonly DefinedName[]) =>
    bind(...names).problems.flatMap(({ severity, code, at, next }) =>
      severity === 'error' ? [{ code, cell: at?.cell, next }] : [],
    );

  it.each([
    ['docket.period.label', 'period.label'],
    ['Docket.Made_At', 'made_at'],
    ['docket.headline.5', 'headline.5'],
    ['docket.comment', 'comment'],
    ['docket.comment.onboarding', 'comment.onboarding'],
    ['docket.notes.onboarding', 'notes.onboarding'],
    ['docket.onboarding.profiles.created', 'onboarding.profiles.created'],
    ['docket.onboarding.profiles.created.change', 'onboarding.profiles.created.change_previous_period'],
    ['docket.workload.alerts.open.status', 'workload.alerts.open.status'],
  ])('bind %s', (text, bound) => {
    expect(bind(name(text, 'B2')).names.map(({ target }) => nameText(target))).toEqual([bound]);
  });

  it('are rejected with the closest match if they mean nothing', () => {
    expect(errors(name('docket.period.lable', 'B2'), name('docketing', 'B3'), name('docket.headline.6', 'B4'))).toEqual(
      [
        { code: 'workbook.unknown', cell: 'B2', next: expect.stringContaining('docket.period.label') },
        { code: 'workbook.unknown', cell: 'B4', next: expect.stringContaining('docket.headline.5') },
      ],
    );
    expect(errors(name('docket.onboarding.profiles.create', 'B2'))[0]?.next).toContain(
      'docket.onboarding.profiles.created',
    );
    expect(errors(name('docket.onboarding.profiles.created.previous_year', 'B2'))).toHaveLength(1);
    expect(errors(name('docket.onbording.profiles.created', 'B2'))[0]?.next).toContain(
      'docket.onboarding.profiles.created',
    );
  });

  it('are rejected without a cell, on chart sheets, in bound tables, and if two share a cell', () => {
    const chart = { ...name('docket.org', 'A1'), target: { sheet: 'Chart', range: range('A1') } };
    expect(errors(name('docket.org'), chart).map(({ code }) => code)).toEqual(['workbook.unknown', 'workbook.unknown']);
    const inTable = { ...name('docket.org', 'B5'), target: { sheet: 'Board', range: range('B5') } };
    const bound = bindTemplate(
      workbook(
        [table('onboarding', ['bucket'], { range: range('B4:B7'), totalsRows: 1 })],
        [inTable, { ...inTable, name: 'docket.title', target: { sheet: 'Board', range: range('B7') } }],
      ),
      outline,
    );
    expect(bound.names.map(({ target }) => nameText(target))).toEqual(['title']);
    expect(errors(name('docket.org', 'B2:C3'), name('docket.title', 'C3'))).toEqual([
      { code: 'workbook.ambiguous', cell: 'C3', next: expect.anything() },
    ]);
    // A name of the workbook and the same name of its sheet count as one.
    expect(errors(name('docket.org', 'B2'), { ...name('docket.org', 'B2'), scope: 'Front' })).toEqual([]);
  });

  it('need totals, or a section with a single row', () => {
    const rows: SectionInput = { ...KPIS, totals: false };
    const single: SectionInput = { id: 'single', metrics: ['profiles.created'] };
    const book = workbook(
      [],
      [name('docket.kpis.profiles.created', 'A1'), name('docket.single.profiles.created', 'A2')],
    );
    const bound = bindTemplate(book, outlineOfDefinition(definitionOf([rows, single]), CATALOG));
    expect(bound.names.map(({ target }) => nameText(target))).toEqual(['single.profiles.created']);
    expect(bound.problems[0]).toMatchObject({ severity: 'error', code: 'workbook.unknown', at: { cell: 'A1' } });
  });
});

describe('the outline of a report', () => {
  it('has the units that the report sets, and follows replaced metrics', () => {
    const catalog = {
      ...CATALOG,
      metrics: CATALOG.metrics.map((metric) =>
        metric.id === 'profiles.created' ? { ...metric, id: 'time_p50', unit: 'seconds' } : metric,
      ),
    };
    const replaced = {
      ...catalog,
      metrics: catalog.metrics.map((metric) =>
        metric.id === 'profiles.opened' ? { ...metric, replaced_by: 'time_p50' } : metric,
      ),
    };
    const definition = definitionOf([{ id: 'a', metrics: ['profiles.opened'] }], {
      units: { time_p90: 'hours' },
      follow_replacements: true,
    });
    expect(outlineOfDefinition(definition, replaced).sections[0]?.columns).toEqual([
      {
        name: 'time_p50',
        kind: 'metric',
        labels: ['profiles.created'],
        unit: 'seconds',
        formerly: 'profiles.opened',
        shownIn: 'hours',
      },
    ]);
  });

  it('has no comparison of current counts, unless they are read daily', () => {
    const definition = definitionOf([{ id: 'a', metrics: ['alerts.open'] }], { compare: 'previous_period' });
    const readings = { at: '23:00', metrics: ['alerts.open'], by: [] } as never;
    expect(outlineOfDefinition(definition, CATALOG).sections[0]?.comparisons).toEqual([]);
    expect(outlineOfDefinition(definition, CATALOG, { readings }).sections[0]?.comparisons).toEqual([
      'previous_period',
    ]);
  });

  it('has everything that the definition promises, even if the service did not give it', () => {
    const definition = definitionOf([{ id: 'onboarding', metrics: ['profiles.created'], totals: true }], {
      compare: 'previous_year',
      to_date: 'year',
    });
    const { totals: _, ...bare } = onboarding;
    const [section] = outlineOfDataset(dataset([{ ...bare, comparisons: [] }]), definition).sections;
    expect(section).toMatchObject({ comparisons: ['previous_year'], toDate: 'year', totals: true });
  });
});
