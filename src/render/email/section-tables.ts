import type { Dataset, Row, Status } from '../../fetch/dataset.ts';
import { firstRows, iterateRows } from '../../fetch/rows.ts';
import { messagesFor, type Words } from '../../i18n/messages.ts';
import { type Figures, judgedChange, type Tone } from '../figures/change-text.ts';
import { isSingleRow, namedComparison, type ViewColumn, valueColumns } from '../figures/columns.ts';
import { betterOf } from '../figures/judge.ts';
import type { ComparedFigure, PackCell, PackSection, Scorecard, ScorecardRow, SectionOf } from '../pack/pack.ts';
import { totalHeading } from '../table-notes.ts';
import type { SmallChart } from './email-images.ts';

/** Columns of a table, as many as a phone can show; of one with changes, as many as fit into the width of an e-mail. */
const MAX_COLUMNS = { plain: 5, compared: 7 } as const;
/** Rows of a table, before the size limit of an e-mail. */
export const MAX_SUMMARY_ROWS = 10;
/** Rows of a scorecard or of trends. */
const MAX_METRIC_ROWS = 16;
/** Comparisons of a scorecard. */
const MAX_COMPARISONS = 2;
/** Size of the small charts, in CSS pixels. */
const SPARKLINE = { width: 80, height: 22 };
const PANEL = { width: 220, height: 40 };

export interface SummaryCell {
  readonly text: string;
  /** The same, shorter, where it stands below its heading in a table. */
  readonly short: string;
  readonly number: boolean;
  readonly undefined: boolean;
  /** Shape and word of its status; empty without a target. */
  readonly status: string;
  /** Which status it is; empty without a target. */
  readonly state: Status | '';
  /** The target, e.g. `target 90%`; empty where it is not shown. */
  readonly target: string;
  /** Of a change: whether it is better or worse. */
  readonly tone: Tone;
  /** The word for `tone`; empty without one. */
  readonly tone_word: string;
  /** A small chart in place of the text, which says the same. */
  readonly chart?: SmallChart;
}

export interface SummaryRow {
  readonly cells: readonly SummaryCell[];
  /** Still running. */
  readonly partial: boolean;
  /** A subheading: its only cell is above the rows that follow. */
  readonly heading: boolean;
}

export interface SummaryHeader {
  readonly text: string;
  readonly number: boolean;
  /** A phone may leave the column out. */
  readonly optional: boolean;
}

/** A section's table in an e-mail. */
export interface SectionTable {
  readonly headers: readonly SummaryHeader[];
  readonly rows: readonly SummaryRow[];
  /** The end that is shown when there are more rows. */
  readonly which: 'first' | 'last';
  /** All rows and columns, shown or not. */
  readonly size: { readonly rows: number; readonly columns: number };
  readonly totals?: readonly SummaryCell[];
  /** The metrics whose headline figures it shows, one per row or one per column. */
  readonly headline: { readonly metrics: readonly string[]; readonly each: 'row' | 'column' };
  /** A scorecard or trends: its rows are metrics, which are not left out for a smaller e-mail. */
  readonly metrics?: true;
}

const PLAIN = {
  number: false,
  undefined: false,
  status: '',
  state: '',
  target: '',
  tone: '',
  tone_word: '',
} as const;

const textCell = (text: string): SummaryCell => ({ ...PLAIN, text, short: text });

const toned = (tone: Tone, { status }: Words): Pick<SummaryCell, 'tone' | 'tone_word'> => ({
  tone,
  tone_word: tone === '' ? '' : status.tones[tone],
});

const ARROWS = { up: '▲', down: '▼', same: '=' } as const;

/** The change in words; `short` as arrow and size, e.g. `▲ 12.4%`, and a dash where the two are not compared. */
function changeCell(compared: ComparedFigure | undefined, words: Words): SummaryCell {
  if (compared === undefined) return textCell('');
  const { change, direction, phrase, tone } = compared;
  const size = direction === 'same' || change.value === null ? '' : change.text.replace(/^([<>]?)[+−-]/, '$1');
  return {
    ...PLAIN,
    ...toned(tone, words),
    text: phrase,
    short: direction === null ? change.text : `${ARROWS[direction]} ${size}`.trim(),
    undefined: direction === null,
  };
}

function figureCell({ figure, target, status }: ScorecardRow, words: Words): SummaryCell {
  return {
    ...textCell(figure.text),
    number: true,
    undefined: figure.value === null,
    ...(status === undefined ? {} : { status: status.text, state: status.status }),
    target: target === undefined || status === undefined ? '' : words.status.target(target.text),
  };
}

const sparklineOf = ({ trend, trendText = '' }: ScorecardRow): SummaryCell => ({
  ...textCell(trendText),
  ...(trend.length === 0 ? {} : { chart: { points: trend, alt: trendText, ...SPARKLINE } }),
});

/** One row for each metric: figure with target and status, changes, the figure to date, and a small chart. */
export function scorecardTable(scorecard: Scorecard, section: PackSection, locale: string): SectionTable {
  const words = messagesFor(locale);
  const { headings, groups } = scorecard;
  const comparisons = scorecard.comparisons.slice(0, MAX_COMPARISONS);
  const trend = scorecard.trend !== undefined;
  const toDate = scorecard.toDate !== undefined;
  const all = groups.flatMap(({ rows }) => rows);
  const shown = new Set(all.slice(0, MAX_METRIC_ROWS));
  const [row] = firstRows(section.table.rows, 1);
  const headers = [
    { text: headings.metric, number: false, optional: false },
    { text: headings.figure, number: true, optional: false },
    ...comparisons.map((_, index) => ({
      text: headings.compared[index]?.change ?? '',
      number: false,
      optional: index > 0,
    })),
    ...(toDate ? [{ text: headings.toDate, number: true, optional: true }] : []),
    ...(trend ? [{ text: headings.trend, number: false, optional: true }] : []),
  ];
  return {
    headers,
    rows: groups.flatMap(({ title, rows }): SummaryRow[] => {
      const own = rows.filter((each) => shown.has(each));
      if (own.length === 0) return [];
      return [
        ...(title === null ? [] : [{ cells: [textCell(title)], partial: false, heading: true }]),
        ...own.map((each) => ({
          cells: [
            textCell(each.label),
            figureCell(each, words),
            ...comparisons.map((_, index) => changeCell(each.compared[index], words)),
            ...(toDate ? [{ ...textCell(each.toDate?.text ?? ''), number: true }] : []),
            ...(trend ? [sparklineOf(each)] : []),
          ],
          partial: row?.partial ?? each.running,
          heading: false,
        })),
      ];
    }),
    which: 'first',
    size: { rows: all.length, columns: headers.length + scorecard.comparisons.length - comparisons.length },
    headline: { metrics: [...shown].map(({ column }) => column.name), each: 'row' },
    metrics: true,
  };
}

/** One row for each metric: its last figure and a small chart. */
export function trendTable({ panels, granularity }: SectionOf<'trend'>, locale: string): SectionTable {
  const words = messagesFor(locale);
  const shown = panels.slice(0, MAX_METRIC_ROWS);
  const points = Math.max(0, ...shown.map((panel) => panel.points.length));
  const last = shown[0]?.points.at(-1)?.label ?? words.pack.value;
  return {
    headers: [
      { text: words.pack.scorecard.metric, number: false, optional: false },
      { text: last, number: true, optional: false },
      { text: words.pack.scorecard.trend(points, granularity), number: false, optional: false },
    ],
    rows: shown.map(({ label, points: own, target, description }) => {
      const point = own.at(-1);
      return {
        cells: [
          textCell(label),
          {
            ...textCell(point?.text ?? ''),
            number: true,
            undefined: (point?.value ?? null) === null,
            target: target === undefined ? '' : words.status.target(target.text),
          },
          { ...textCell(description), chart: { points: own, alt: description, ...PANEL } },
        ],
        partial: point?.partial ?? false,
        heading: false,
      };
    }),
    which: 'first',
    size: { rows: panels.length, columns: 3 },
    headline: { metrics: [], each: 'row' },
    metrics: true,
  };
}

/** The label of the totals, marked when the period is still running. */
function totalLabel({ table }: PackSection, words: Words): string {
  const heading = totalHeading(table, words);
  return table.running ? words.mail.named(heading, [words.mail.template.still_running]) : heading;
}

const asCell = (view: ViewColumn, cell: PackCell, words: Words): SummaryCell => {
  // A change from 0 has a direction but no size: a dash is neither better nor worse.
  const tone = toned(cell.value === null ? '' : cell.tone, words);
  return {
    ...PLAIN,
    ...tone,
    text: tone.tone_word === '' ? cell.text : `${cell.text}, ${tone.tone_word}`,
    short: cell.text,
    number: view.role === 'value' || view.role === 'change',
    undefined: cell.value === null,
    ...(cell.status === undefined ? {} : { status: cell.status.text, state: cell.status.status }),
  };
};

/** The key columns, then each metric with its change, as many as fit. */
function shownColumns({ columns, table }: PackSection): { readonly shown: ViewColumn[]; readonly left: number } {
  // The text of a bucket contains the ISO week.
  const keys = columns.filter(({ role, source }) => role === 'label' || (source.kind === 'time' && role !== 'week'));
  const [comparison] = table.comparisons;
  const metrics = valueColumns(columns).map((value) => [
    value,
    ...columns.filter(
      ({ role, source, comparison: of }) => role === 'change' && source === value.source && of === comparison?.kind,
    ),
  ]);
  const most = comparison === undefined ? MAX_COLUMNS.plain : MAX_COLUMNS.compared;
  const shown = keys.slice(0, most);
  let count = 0;
  for (const metric of metrics) {
    if (shown.length + metric.length > most) break;
    shown.push(...metric);
    count += 1;
  }
  return { shown, left: Math.max(0, keys.length - most) + metrics.length - count };
}

/** A list, groups or buckets: the rows as they are, those of exceptions worst first. */
export function groupedTable(section: PackSection, locale: string): SectionTable {
  const words = messagesFor(locale);
  const { table, cells } = section;
  const { shown: views, left } = shownColumns(section);
  const [firstView] = views;
  const exceptions = section.kind === 'exceptions';
  const which = exceptions || table.granularity === null || table.ranked ? 'first' : 'last';
  const cellOf = (view: ViewColumn, row: Row) => asCell(view, cells.ofRow(view, row), words);
  const rows = exceptions ? section.rows.map(({ row }) => row) : rowsOf(table.rows, which);
  const totals =
    table.totals === undefined || exceptions
      ? {}
      : {
          totals: views.map((view) => {
            const cell = cells.ofTotals(view);
            if (cell !== undefined) return asCell(view, cell, words);
            return textCell(view === firstView ? totalLabel(section, words) : '');
          }),
        };
  return {
    headers: views.map((view) => ({
      text: headerOf(view, words),
      number: view.role === 'value' || view.role === 'change',
      optional: false,
    })),
    rows: rows
      .slice(0, MAX_SUMMARY_ROWS)
      .map((row) => ({ cells: views.map((view) => cellOf(view, row)), partial: row.partial, heading: false })),
    which,
    size: { rows: table.rows.length, columns: views.length + left },
    ...totals,
    headline: { metrics: valueColumns(views).map(({ source }) => source.name), each: 'column' },
  };
}

const rowsOf = (rows: PackSection['table']['rows'], which: 'first' | 'last'): readonly Row[] =>
  which === 'first' || rows.length <= MAX_SUMMARY_ROWS
    ? firstRows(rows, MAX_SUMMARY_ROWS)
    : [...iterateRows(rows)].slice(-MAX_SUMMARY_ROWS);

function headerOf({ role, header, source, comparison }: ViewColumn, words: Words): string {
  if (role === 'bucket') return header;
  if (role !== 'change') return source.label;
  return words.workbook.section.change(comparison === 'previous_period' ? undefined : comparison);
}

type CellOf = (view: ViewColumn) => PackCell | undefined;

/** A single row whose totals are other figures: both beside each other, one row for each metric. */
export function transposedTable(section: PackSection, dataset: Dataset, locale: string): SectionTable {
  const words = messagesFor(locale);
  const { section: texts } = words.workbook;
  const { table, columns, cells } = section;
  const [row] = firstRows(table.rows, 1);
  const metrics = valueColumns(columns);
  const sources: readonly (readonly [heading: string, figures: Figures | undefined, cellOf: CellOf])[] = [
    [texts.value, row, (view) => row && cells.ofRow(view, row)],
    [totalLabel(section, words), table.totals, (view) => cells.ofTotals(view)],
  ];
  const given = sources.filter(([, figures]) => figures !== undefined);
  const headings = given.flatMap(([heading]) => [
    { text: heading, number: true, optional: false },
    ...table.comparisons.map(({ kind }) => ({
      text: texts.change(namedComparison(kind, table.comparisons)),
      number: false,
      optional: false,
    })),
  ]);
  const cellsOf = (view: ViewColumn): SummaryCell[] =>
    given.flatMap(([, figures, cellOf]) => {
      const cell = cellOf(view);
      return [
        cell === undefined ? textCell('') : asCell(view, cell, words),
        ...table.comparisons.map(({ kind }): SummaryCell => {
          const changed = columns.find(
            ({ role, source, comparison }) => role === 'change' && source === view.source && comparison === kind,
          );
          const better = betterOf(dataset, view.source.name);
          const phrase = figures && judgedChange(view, figures, kind, better, locale);
          const short = (changed && cellOf(changed)?.text) ?? '';
          return phrase === undefined
            ? textCell('')
            : { ...textCell(phrase.text), ...toned(phrase.tone, words), short };
        }),
      ];
    });
  return {
    headers: [{ text: texts.metric, number: false, optional: false }, ...headings],
    rows: metrics.slice(0, MAX_METRIC_ROWS).map((view) => ({
      cells: [textCell(view.source.label), ...cellsOf(view)],
      partial: row?.partial ?? false,
      heading: false,
    })),
    which: 'first',
    size: { rows: metrics.length, columns: 1 + headings.length },
    headline: { metrics: metrics.slice(0, MAX_METRIC_ROWS).map(({ source }) => source.name), each: 'row' },
    metrics: true,
  };
}

/** The table of a section; undefined for one of text. */
export function sectionTable(section: PackSection, dataset: Dataset, locale: string): SectionTable | undefined {
  switch (section.kind) {
    case 'text':
      return undefined;
    case 'scorecard':
      return scorecardTable(section.scorecard, section, locale);
    case 'trend':
      return trendTable(section, locale);
    case 'exceptions':
      return groupedTable(section, locale);
    case 'table':
      if (!isSingleRow(section.table)) return groupedTable(section, locale);
      return section.scorecard === undefined
        ? transposedTable(section, dataset, locale)
        : scorecardTable(section.scorecard, section, locale);
  }
}
