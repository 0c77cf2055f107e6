import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ComparisonKind } from '../../../../src/definitions/schema/comparison.ts';
import type {
  CellValue,
  ColumnTarget,
  NameTarget,
} from '../../../../src/features/workbook-template/binding/bindings.ts';
import { headerReader } from '../../../../src/features/workbook-template/binding/column-headers.ts';
import { createInstantReader, excelDate } from '../../../../src/features/workbook-template/binding/excel-dates.ts';
import { readName } from '../../../../src/features/workbook-template/binding/names.ts';
import { outlineOfDataset } from '../../../../src/features/workbook-template/binding/outline.ts';
import { nameValue, tableRows } from '../../../../src/features/workbook-template/binding/read-values.ts';
import { columnText, nameText } from '../../../../src/features/workbook-template/binding/target-text.ts';
import type {
  Column,
  Comparisons,
  Dataset,
  Judgement,
  MetricValues,
  Row,
  Table,
} from '../../../../src/fetch/dataset.ts';
import { incompleteNotes } from '../../../../src/fetch/notes.ts';
import { messagesFor } from '../../../../src/i18n/messages.ts';
import { viewColumns } from '../../../../src/render/figures/columns.ts';
import { UNDEFINED_TEXT } from '../../../../src/render/figures/format-value.ts';
import { rawColumns } from '../../../../src/render/figures/raw-columns.ts';
import { statusColumns } from '../../../../src/render/formats/csv/status-fields.ts';
import { toCellValue } from '../../../../src/render/formats/xlsx/sections/grid/cell-value.ts';
import { incompleteNoteText, tableFacts, tableNotes } from '../../../../src/render/table-notes.ts';
import {
  bucketColumn,
  dataset,
  durationColumn,
  MADE_AT,
  nastyDataset,
  onboarding,
  PERIOD,
  ratioColumn,
  row,
  table,
  typeColumn,
} from '../../../support/dataset.ts';
import { cases } from '../../../support/fuzz.ts';

const UNITS = ['count', 'ratio', 'seconds', 'chf', null] as const;
/** Two metrics can share a label. */
const LABELS = ['Created', 'created', 'Rate (gross)', 'Zeit bis Entscheid', 'A, change'] as const;
const KINDS: readonly (readonly ComparisonKind[])[] = [
  [],
  ['previous_period'],
  ['previous_year'],
  ['previous_year', 'previous_period'],
];
const RANGE = { from: '2025-11-09', to: '2025-11-15' };

const figure = fc.oneof(
  { weight: 4, arbitrary: fc.double({ min: -1e9, max: 1e9, noNaN: true }) },
  { weight: 2, arbitrary: fc.nat(1000) },
  { weight: 1, arbitrary: fc.constant(null) },
);

/** A section with all kinds of figures, and statuses of some. */
const section = fc
  .record({
    labels: fc.array(fc.tuple(fc.constantFrom(...LABELS), fc.constantFrom(...UNITS)), { minLength: 1, maxLength: 4 }),
    shownIn: fc.constantFrom('minutes', 'hours', 'days'),
    granularity: fc.constantFrom(null, 'day', 'week', 'month'),
    grouped: fc.boolean(),
    kinds: fc.constantFrom(...KINDS),
    toDate: fc.constantFrom(undefined, 'year', 'quarter'),
    totals: fc.boolean(),
    figures: fc.array(figure, { minLength: 40, maxLength: 40 }),
    rows: fc.integer({ min: 0, max: 3 }),
    unlike: fc.boolean(),
  })
  .map(({ labels, shownIn, granularity, grouped, kinds, toDate, figures, rows, unlike, ...asked }) => {
    let next = 0;
    const take = (): number | null => figures[next++ % figures.length] ?? null;
    const metrics = labels.map(
      ([label, unit], index): Column => ({
        name: `m${index}.value-${index}`,
        label,
        kind: 'metric',
        type: 'number',
        unit,
        ...(unit === 'seconds' ? { shownIn } : {}),
      }),
    );
    const values = (): MetricValues => Object.fromEntries(metrics.map(({ name }) => [name, take()]));
    const compare = (): Comparisons =>
      Object.fromEntries(kinds.map((kind) => [kind, { values: values(), ...(unlike ? { unlike: 'partial' } : {}) }]));
    const single = granularity === null && !grouped;
    const all = Array.from({ length: single ? 1 : rows }, (_, index): Row => {
      const labelled = {
        ...(granularity === null ? {} : { bucket: `2026-11-0${index + 2}` }),
        ...(grouped ? { 'profile.type': ['individual', 'entity', 'martian'][index] ?? null } : {}),
      };
      const dated = granularity === null && toDate !== undefined ? { toDate: values() } : {};
      return row({ ...labelled, ...values() }, { compare: compare(), ...dated });
    });
    const totals = asked.totals ? { values: values(), compare: compare(), toDate: values() } : undefined;
    const made = table({
      id: 'a-section',
      granularity,
      columns: [...(granularity === null ? [] : [bucketColumn]), ...(grouped ? [typeColumn] : []), ...metrics],
      comparisons: kinds.map((kind) => ({ kind, range: RANGE })),
      ...(toDate === undefined ? {} : { toDate: { unit: toDate, range: RANGE } }),
      rows: all,
      ...(totals === undefined ? {} : { totals }),
    } as Parameters<typeof table>[0]);
    const { name: judged = '' } = metrics[0] ?? {};
    const judgement = (of: Pick<Judgement, 'bucket' | 'group' | 'figure'>, index: number): Judgement => ({
      section: made.id,
      metric: judged,
      status: (['on_target', 'watch', 'breached'] as const)[index % 3] ?? 'undefined',
      target: 0,
      ...of,
    });
    const figureOf = (value: unknown) => (typeof value === 'number' ? value : null);
    const judgements = [
      ...(totals === undefined && !single
        ? []
        : [judgement({ bucket: null, group: null, figure: figureOf((totals ?? all[0])?.values[judged]) }, 2)]),
      ...(single
        ? []
        : all.map((each, index) =>
            judgement(
              {
                bucket: granularity === null ? null : String(each.values.bucket),
                group: grouped ? { dimension: 'profile.type', value: String(each.values['profile.type']) } : null,
                figure: figureOf(each.values[judged]),
              },
              index,
            ),
          )),
    ];
    const targets = [{ metric: judged, better: 'higher' as const, target: 7_200, source: 'report' as const }];
    return { made, data: dataset([made], { targets, judgements }) };
  });

/** The value of a cell, in the form of Docket's own workbook. */
const asOwn = (value: CellValue): unknown => (typeof value === 'object' ? (value?.serial ?? UNDEFINED_TEXT) : value);
const ownValue = (value: ReturnType<typeof toCellValue>): unknown =>
  value instanceof Date ? excelDate(value)?.serial : value;

/** Docket's own headers tell columns with equal labels apart by their units only. A template names the metric. */
const distinct = ({ columns }: Table, header: string, { name, label }: Column): string => {
  const shared = columns.filter((each) => each.label.toLowerCase() === label.toLowerCase()).length > 1;
  return shared && !header.includes(`[${name}]`) ? `${header} [${name}]` : header;
};

const boundTo = (data: Dataset, headers: readonly string[]): readonly ColumnTarget[] => {
  const [outline = expect.fail('no section')] = outlineOfDataset(data).sections;
  const read = headerReader(outline);
  return headers.map((header) => {
    const found = read(header);
    return found.kind === 'bound' ? found.target : expect.fail(`${header}: ${JSON.stringify(found)}`);
  });
};
const valuesOf = (data: Dataset, { id }: Table, columns: readonly (ColumnTarget | null)[], locale = 'en-GB') => [
  ...tableRows(data, { section: id, columns }, { locale }).rows,
];

describe('values of bound columns and names', () => {
  it.each(['en-GB', 'de-CH'])("equal those of Docket's own workbook and CSV, by its headers (%s)", (locale) => {
    fc.assert(
      fc.property(section, ({ made, data }) => {
        const views = viewColumns(made, locale);
        const own = made.rows as readonly Row[];
        const bound = boundTo(
          data,
          views.map(({ header, source }) => distinct(made, header, source)),
        );
        expect(valuesOf(data, made, bound, locale).map((cells) => cells.map(asOwn))).toEqual(
          own.map((each) => views.map(({ read, quantity }) => ownValue(toCellValue(read(each), quantity)))),
        );
        // The same for the raw values of CSV files, where durations are in seconds.
        const raw = rawColumns(made).filter(({ role, source }) => role !== 'change' && source.kind === 'metric');
        expect(
          valuesOf(
            data,
            made,
            boundTo(
              data,
              raw.map(({ rawHeader, source }) => distinct(made, rawHeader, source)),
            ),
          ),
        ).toEqual(own.map((each) => raw.map(({ read }) => read(each))));
        const statuses = statusColumns(data, made, { values: 'formatted', locale } as never);
        const judged = statuses.map(() => ({
          column: made.columns.find(({ kind }) => kind === 'metric')?.name ?? '',
          figure: { figure: 'status' as const },
        }));
        expect(valuesOf(data, made, judged, locale).map((cells) => cells.map((cell) => cell ?? ''))).toEqual(
          own.map((each) => statuses.map(({ field }) => field(each) ?? '')),
        );
      }),
      cases(150),
    );
  });

  it('equal those of the figure that a full name or header names', () => {
    fc.assert(
      fc.property(section, ({ made, data }) => {
        const outline = outlineOfDataset(data);
        const [of = expect.fail('no section')] = outline.sections;
        for (const view of rawColumns(made).filter(({ source }) => source.kind === 'metric')) {
          const { role, source, comparison, total } = view;
          const suffix = { previous: `.${comparison}`, change: `.change_${comparison}`, to_date: '.to_date' }[
            role as string
          ];
          const name = `${source.name}${suffix ?? ''}`;
          const [target = expect.fail(name)] = boundTo(data, [name]);
          expect(columnText(target)).toBe(name);
          const read = readName(`docket.A_Section.${name.replaceAll('-', '_')}`, outline);
          if (!of.totals) {
            expect(read).toEqual({ kind: 'no_totals', section: made.id });
            continue;
          }
          const bound = read.kind === 'bound' ? read.target : expect.fail(name);
          expect(nameText(bound)).toBe(`${made.id}.${name}`);
          const [first] = made.rows as readonly Row[];
          const single = first === undefined ? null : view.read(first);
          expect(nameValue(data, bound, { locale: 'en-GB', madeAt: MADE_AT })).toBe(
            made.totals === undefined ? single : total,
          );
        }
      }),
      cases(100),
    );
  });
});

const OPTIONS = { locale: 'de-CH', madeAt: Date.UTC(2026, 10, 16, 7), classification: 'Vertraulich' };
const value = (data: Dataset, target: NameTarget) => nameValue(data, target, OPTIONS);

describe('instants', () => {
  it('use the clock of their zone, also on days when it changes', () => {
    const clock = createInstantReader('Europe/Zurich');
    const hours = (text: string) => ((clock(new Date(text))?.serial ?? 0) % 1) * 24;
    const texts = [
      '2026-03-29T00:30Z',
      '2026-03-29T01:30Z',
      '2026-10-25T00:30Z',
      '2026-10-25T01:30Z',
      '2026-07-01T10:30Z',
    ];
    expect(texts.map((text) => Math.round(hours(text) * 10) / 10)).toEqual([1.5, 3.5, 2.5, 2.5, 12.5]);
    expect(clock(new Date('1899-12-31T00:00Z'))).toBeUndefined();
  });
});

describe('values of a report', () => {
  it('use the days and clock of the period, are empty for undefined figures, and follow the units of headers', () => {
    const data = dataset([onboarding]);
    const [bucket, hours, rate] = boundTo(data, ['bucket', 'Time to decision (median) (h)', 'profiles.approval_rate']);
    const rows = valuesOf(data, onboarding, [bucket ?? null, null, hours ?? null, rate ?? null]);
    expect(rows[0]).toEqual([{ serial: 46335 }, null, 12_345 / 3600, 0.81]);
    expect(rows[6]).toEqual([{ serial: 46341 }, null, null, null]);
    expect(value(data, { kind: 'date', of: 'period.start' })).toEqual({ serial: 46335 });
    // 07:00 UTC is 08:00 in Zurich.
    expect(value(data, { kind: 'date', of: 'made_at' })).toEqual({ serial: 46342 + 8 / 24 });
  });

  it('use the units of the definition, or seconds', () => {
    const data = dataset([table({ id: 'a', columns: [{ ...durationColumn, shownIn: 'days' }], rows: [] })]);
    const sections = [{ id: 'a', metrics: [durationColumn.name] }] as never;
    const definition = { sections, units: { 'profiles.time_to_decision_p90': 'hours' } } as const;
    const unitIn = (outline: ReturnType<typeof outlineOfDataset>) => outline.sections[0]?.columns[0]?.shownIn;
    expect([unitIn(outlineOfDataset(data)), unitIn(outlineOfDataset(data, definition))]).toEqual([undefined, 'hours']);
  });

  it('convert fields of a list to numbers, days, instants, texts and booleans', () => {
    const field = (name: string): Column => ({ name, label: name, kind: 'field', type: 'string', unit: null });
    const roster = table({
      id: 'roster',
      range: null,
      columns: ['id', 'mixed', 'at', 'day', 'active', 'old'].map(field),
      rows: [
        row({ id: 7, mixed: 1, at: '2026-07-01T10:00:00Z', day: '2026-07-01', active: true, old: '1899-01-01' }),
        row({ id: 8, mixed: '=1+1', at: null, day: null, active: false, old: '2026-07-01' }),
      ],
    });
    const data = dataset([roster]);
    const targets = boundTo(data, ['ID', 'mixed', 'at', 'at (UTC)', 'day', 'active', 'old']);
    expect(valuesOf(data, roster, targets)).toEqual([
      [7, '1', { serial: 46204.5 }, { serial: 46204 + 10 / 24 }, { serial: 46204 }, true, '1899-01-01'],
      [8, '=1+1', null, null, null, false, { serial: 46204 }],
    ]);
  });

  it('use a unit after the name of a duration, and after no other name', () => {
    const totals = { values: { [durationColumn.name]: 7200 } };
    const data = dataset([table({ id: 'a', columns: [durationColumn, ratioColumn], rows: [], totals })]);
    const read = (rest: string) => readName(`docket.a.${rest}`, outlineOfDataset(data));
    const hours = read(`${durationColumn.name}.hours`);
    expect(hours.kind === 'bound' && value(data, hours.target)).toBe(2);
    expect(read(`${durationColumn.name}.status.hours`).kind).toBe('unknown');
    expect(read(`${ratioColumn.name}.hours`).kind).toBe('unknown');
  });

  it('include the notes of a section that its cells cannot show', () => {
    const data = dataset([onboarding]);
    const words = messagesFor('de-CH');
    const lines = [
      ...tableFacts(data, onboarding, 'de-CH'),
      ...tableNotes(onboarding, 'de-CH').map((note) => incompleteNoteText(note, words)),
    ];
    expect(lines.length).toBeGreaterThan(1);
    expect(value(data, { kind: 'notes', section: 'onboarding' })).toBe(lines.join('\n'));
  });

  it("print comments, approval, corrections and completeness like Docket's own files", () => {
    const data = dataset([onboarding], {
      headlines: ['One', 'Two'],
      comments: [
        {
          section: null,
          author: 'Ada',
          at: '2026-11-16T08:00:00Z',
          blocks: [{ kind: 'paragraph', spans: [{ text: 'All' }] }],
        },
        {
          section: 'onboarding',
          author: 'Ben',
          at: '2026-11-16T08:00:00Z',
          blocks: [{ kind: 'list', ordered: true, items: [[{ text: '=1' }], [{ text: 'b', emphasis: 'em' }]] }],
        },
      ],
      approval: { by: [{ name: 'Ada', at: '2026-11-16T08:00:00Z' }], content: 'c'.repeat(64) },
      correction: {
        replaces: { run: 'r', at: '2026-11-09T08:00:00Z' },
        changes: [
          { section: 'onboarding', metric: 'profiles.created', bucket: null, group: null, before: 1, after: 2 },
        ],
      },
    });
    const { review } = messagesFor('de-CH');
    const day = '16. November 2026';
    expect(value(data, { kind: 'comment', section: 'onboarding' })).toBe(`${review.comment('Ben', day)}\n1. =1\n2. b`);
    expect(value(data, { kind: 'comment', section: null })).toBe(`${review.comment('Ada', day)}\nAll`);
    expect(value(data, { kind: 'text', of: 'approval' })).toBe(review.approved([{ name: 'Ada', day }], 0));
    expect(String(value(data, { kind: 'text', of: 'correction' })).split('\n')).toHaveLength(2);
    expect(value(data, { kind: 'headline', number: 2 })).toBe('Two');
    expect(value(data, { kind: 'headline', number: 3 })).toBeNull();
    const texts = ['period.label', 'org', 'report', 'title', 'classification'] as const;
    expect(texts.map((of) => value(data, { kind: 'text', of }))).toEqual([
      PERIOD.label,
      data.organization,
      data.report,
      data.title,
      'Vertraulich',
    ]);
    expect(value(data, { kind: 'text', of: 'completeness' })).toBe(messagesFor('de-CH').workbook.complete);
    const stale = nastyDataset();
    const lines = String(value(stale, { kind: 'text', of: 'completeness' })).split('\n');
    expect(lines).toHaveLength(1 + incompleteNotes(stale).length);
    for (const { section } of incompleteNotes(stale))
      expect(lines.slice(1).join()).toContain(stale.tables.find(({ id }) => id === section)?.title);
    const bare = dataset([onboarding]);
    const absent = [
      { kind: 'text', of: 'approval' },
      { kind: 'text', of: 'correction' },
      { kind: 'comment', section: 'onboarding' },
    ] as const;
    expect(absent.map((target) => value(bare, target))).toEqual([null, null, null]);
  });
});
