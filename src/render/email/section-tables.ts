import type { Dataset, Row } from '../../fetch/dataset.ts';
import { firstRows, iterateRows } from '../../fetch/rows.ts';
import { messagesFor, type Words } from '../../i18n/messages.ts';
import { findBetter } from '../figures/better.ts';
import { type Figures, judgedChange } from '../figures/change-text.ts';
import { isSingleRow, type ViewColumn, valueColumns } from '../figures/columns.ts';
import { namedComparison } from '../figures/raw-columns.ts';
import { findBoundaries, totalJudgement } from '../figures/status-text.ts';
import type { PackCell, PackSection } from '../pack/pack.ts';
import { totalHeading } from '../table-notes.ts';
import { MAX_METRIC_ROWS, scorecardTable, trendTable } from './metric-tables.ts';
import { asCell, type SectionTable, type SummaryCell, textCell, toned } from './summary-cells.ts';

/**
 * The most columns of a table: as many as a phone can show, or, with changes, as many as fit into the width of an
 * e-mail.
 */
const MAX_COLUMNS = { plain: 5, compared: 7 } as const;
/** The most rows of a table, before the size limit of the e-mail reduces them. */
export const MAX_SUMMARY_ROWS = 10;

/** The label of the totals, with a mark while the period is running. */
function totalLabel({ table }: PackSection, words: Words): string {
  const heading = totalHeading(table, words);
  return table.running ? words.mail.named(heading, [words.mail.template.still_running]) : heading;
}

/** The columns that fit: the key columns, then each metric with its change. */
function shownColumns({ columns, table }: PackSection): { readonly shown: ViewColumn[]; readonly left: number } {
  // The text of a bucket already contains the ISO week.
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

/** The table of a list, of groups or of buckets. Rows keep their order, but exceptions have the worst first. */
function groupedTable(section: PackSection, locale: string): SectionTable {
  const words = messagesFor(locale);
  const { table, cells } = section;
  const { shown: views, left } = shownColumns(section);
  const [firstView] = views;
  const exceptions = section.kind === 'exceptions';
  const which = exceptions || table.granularity === null || table.ranked ? 'first' : 'last';
  const buildCell = (view: ViewColumn, row: Row) => asCell(view, cells.ofRow(view, row), words);
  const rows = selectRows(table.rows, which);
  const totals =
    table.totals === undefined
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
      text: formatHeader(view, words),
      number: view.role === 'value' || view.role === 'change',
      optional: false,
    })),
    rows: rows
      .slice(0, MAX_SUMMARY_ROWS)
      .map((row) => ({ cells: views.map((view) => buildCell(view, row)), partial: row.partial, heading: false })),
    which,
    size: { rows: table.rows.length, columns: views.length + left },
    ...totals,
    headline: { metrics: valueColumns(views).map(({ source }) => source.name), each: 'column' },
  };
}

const selectRows = (rows: PackSection['table']['rows'], which: 'first' | 'last'): readonly Row[] =>
  which === 'first' || rows.length <= MAX_SUMMARY_ROWS
    ? firstRows(rows, MAX_SUMMARY_ROWS)
    : [...iterateRows(rows)].slice(-MAX_SUMMARY_ROWS);

function formatHeader({ role, header, source, comparison }: ViewColumn, words: Words): string {
  if (role === 'bucket') return header;
  if (role !== 'change') return source.label;
  return words.workbook.section.change(comparison === 'previous_period' ? undefined : comparison);
}

type CellOf = (view: ViewColumn) => PackCell | undefined;

/** The table of a single row whose totals are other figures: it shows both side by side, one row for each metric. */
function transposedTable(section: PackSection, dataset: Dataset, locale: string): SectionTable {
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
  const buildCells = (view: ViewColumn): SummaryCell[] =>
    given.flatMap(([, figures, cellOf]) => {
      const cell = cellOf(view);
      return [
        cell === undefined ? textCell('') : asCell(view, cell, words),
        ...table.comparisons.map(({ kind }): SummaryCell => {
          const changed = columns.find(
            ({ role, source, comparison }) => role === 'change' && source === view.source && comparison === kind,
          );
          const better = findBetter(dataset, table, view.source.name);
          const judged = findBoundaries(dataset, totalJudgement(dataset.judgements, table.id, view.source.name));
          const phrase = figures && judgedChange(view, figures, kind, better, { judged, few: dataset }, locale);
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
      cells: [textCell(view.source.label), ...buildCells(view)],
      partial: row?.partial ?? false,
      heading: false,
    })),
    which: 'first',
    size: { rows: metrics.length, columns: 1 + headings.length },
    headline: { metrics: metrics.slice(0, MAX_METRIC_ROWS).map(({ source }) => source.name), each: 'row' },
    metrics: true,
  };
}

/** The table of a section; undefined for a text section. */
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
