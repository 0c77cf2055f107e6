import type { CommentSpan } from '../../../../definitions/commentary/comment-text.ts';
import { firstRows } from '../../../../fetch/rows.ts';
import { messagesFor, type Words } from '../../../../i18n/messages.ts';
import { exceptionsText } from '../../../pack/exceptions.ts';
import type { ColumnBlock, PackSection, SectionOf } from '../../../pack/pack.ts';
import { splitRequests } from '../../../pack/review/asked.ts';
import { type BlockLine, blockLines } from '../../../pack/review/block-lines.ts';
import type { PackComment } from '../../../pack/review/review.ts';
import { totalHeading } from '../../../table-notes.ts';
import { type ChartData, chartData } from './chart-data.ts';
import { type PanelData, panelData, type ScorecardData, scorecardData } from './scorecard-data.ts';
import { blockTable, type TableData, transposedTable } from './table-data.ts';

/** A section as a template lays it out. */
export interface SectionData {
  readonly id: string;
  readonly kind: PackSection['kind'];
  readonly title: string;
  /** May be empty. So may all other texts and lists. */
  readonly description: string;
  readonly takeaway: string;
  /** Shown above its figures. */
  readonly comments: readonly CommentData[];
  readonly facts: readonly string[];
  /** What makes it incomplete. Shown above its figures. */
  readonly warnings: readonly string[];
  readonly notes: readonly string[];
  readonly chart: (ChartData & { readonly place: 'above' | 'beside' }) | null;
  readonly scorecard: ScorecardData | null;
  readonly panels: readonly PanelData[];
  /** One for each block of columns. */
  readonly tables: readonly TableData[];
  readonly paragraphs: readonly string[];
  /** Why it shows no figures, or not all rows. */
  readonly more: string;
}

/** What all sections of a PDF share. */
export interface SectionContext {
  readonly locale: string;
  /** In points. */
  readonly pageWidth: number;
  /** Formats of the report's outputs. They contain the rows that are left out here. */
  readonly formats: readonly string[];
  readonly budget: RowBudget;
}

/** Counts down the rows and cells that a PDF may still have. */
export interface RowBudget {
  /** Returns how many of these rows may be shown, with this many cells each. */
  take(rows: number, cells: number): number;
}

export function createRowBudget(maxRows: number, maxCells: number): RowBudget {
  let [rowsLeft, cellsLeft] = [maxRows, maxCells];
  return {
    take: (rows, cells) => {
      const shown = Math.max(0, Math.min(rows, rowsLeft, Math.floor(cellsLeft / Math.max(1, cells))));
      rowsLeft -= shown;
      cellsLeft -= shown * cells;
      return shown;
    },
  };
}

/** The number of cells in a row, in all blocks together. */
const cellsPerRow = (blocks: readonly ColumnBlock[]): number =>
  blocks.reduce(
    (sum, { keys, groups }) => sum + keys.length + groups.reduce((own, { columns }) => own + columns.length, 0),
    0,
  );

/** What the PDF shows of a section that is not printed: its title and its comments. */
export const unprintedSectionData = ({ table, title, comments }: PackSection, words: Words): SectionData => ({
  id: table.id,
  kind: 'text',
  title,
  description: '',
  takeaway: '',
  comments: comments.map((each) => commentData(each, words)),
  facts: [],
  warnings: [],
  notes: [],
  chart: null,
  scorecard: null,
  panels: [],
  tables: [],
  paragraphs: [],
  more: '',
});

/** Creates the data of a section. Rows beyond the limits are left out, and `more` says so. */
export function sectionData(section: PackSection, context: SectionContext): SectionData {
  const { table, title, description = '', takeaway = '', facts, warnings, notes, chart, empty = '' } = section;
  const { locale } = context;
  const place = chart?.place === 'beside' ? 'beside' : 'above';
  const base: SectionData = {
    id: table.id,
    kind: section.kind,
    title,
    description,
    takeaway,
    comments: section.comments.map((each) => commentData(each, messagesFor(locale))),
    facts,
    warnings,
    notes,
    chart: chart === undefined ? null : { ...chartData(chart.chart, locale), place },
    scorecard: null,
    panels: [],
    tables: [],
    paragraphs: [],
    more: empty,
  };
  switch (section.kind) {
    case 'scorecard':
      return { ...base, scorecard: scorecardData(section.scorecard, locale) };
    case 'trend':
      return { ...base, panels: section.panels.map((panel) => panelData(panel, locale)) };
    case 'text':
      return { ...base, paragraphs: section.paragraphs };
    case 'exceptions':
      return { ...base, ...exceptionTables(section, context, base) };
    case 'table':
      return section.scorecard === undefined
        ? { ...base, ...plainTables(section, context, empty) }
        : { ...base, scorecard: scorecardData(section.scorecard, locale) };
  }
}

type Tables = Pick<SectionData, 'tables' | 'more'>;

/** A single sentence says how many of the rows are shown, and where all of them are. */
function exceptionTables(
  section: SectionOf<'exceptions'>,
  context: SectionContext,
  { notes, more }: Pick<SectionData, 'notes' | 'more'>,
): Tables & Pick<SectionData, 'notes'> {
  const { blocks, cells, counts } = section;
  const shown = context.budget.take(section.rows.length, cellsPerRow(blocks));
  const rows = section.rows.slice(0, shown).map(({ row }) => row);
  if (section.rows.length === 0) return { notes, tables: [], more };
  const words = messagesFor(context.locale);
  const said = exceptionsText(counts, section.rows.length, words);
  const rest = shown < counts.of ? words.pdf.allRows(context.formats.filter((format) => format === 'csv')) : '';
  return {
    notes: notes.filter((note) => note !== said),
    tables: rows.length === 0 ? [] : blocks.map((block) => blockTable(block, rows, { ...context, cells })),
    more: `${exceptionsText(counts, shown, words)} ${rest}`.trim(),
  };
}

function plainTables(section: SectionOf<'table'>, context: SectionContext, empty: string): Tables {
  const { table, blocks, cells } = section;
  const turned = section.transposed || section.transposedOnPages;
  const shown = context.budget.take(table.rows.length, cellsPerRow(blocks));
  const rows = firstRows(table.rows, shown);
  const total = table.totals === undefined ? undefined : totalHeading(table, messagesFor(context.locale));
  const options = { ...context, cells };
  const tables = () =>
    turned
      ? [transposedTable(blocks, rows, options, total)]
      : blocks.map((block) => blockTable(block, rows, options, total));
  return {
    tables: rows.length === 0 ? [] : tables(),
    more: shown < table.rows.length ? restText(shown, table.rows.length, context) : empty,
  };
}

const restText = (shown: number, all: number, { locale, formats }: SectionContext): string =>
  messagesFor(locale).pdf.firstRows(shown, all, formats);

/** A part of a line with one style. */
interface SpanData {
  readonly text: string;
  readonly emphasis: '' | 'em' | 'strong';
}

/** A person's comment, as a template lays it out. */
export interface CommentData {
  /** The author and the time. */
  readonly heading: string;
  /** Paragraphs and list items. `marker` is empty for a paragraph. */
  readonly lines: readonly LineData[];
  /** The lines that contain no request. */
  readonly body: readonly LineData[];
  /** What readers are to decide, below `heading`; null if nothing. */
  readonly asked: { readonly heading: string; readonly items: readonly (readonly SpanData[])[] } | null;
  /** What other people are to do. `who`: owner and due date; may be empty. */
  readonly actions: {
    readonly heading: string;
    readonly items: readonly { readonly who: string; readonly spans: readonly SpanData[] }[];
  } | null;
}

interface LineData {
  readonly marker: string;
  readonly spans: readonly SpanData[];
}

const spansData = (spans: readonly CommentSpan[]): SpanData[] =>
  spans.map(({ text, emphasis }): SpanData => ({ text, emphasis: emphasis ?? '' }));

const lineData = ({ marker, spans }: BlockLine): LineData => ({ marker, spans: spansData(spans) });

export function commentData({ heading, blocks }: PackComment, { review }: Pick<Words, 'review'>): CommentData {
  const { body, decisions, actions } = splitRequests(blocks);
  return {
    heading,
    lines: blockLines(blocks).map(lineData),
    body: body.map(lineData),
    asked: decisions.length === 0 ? null : { heading: review.asked, items: decisions.map(spansData) },
    actions:
      actions.length === 0
        ? null
        : { heading: review.actions, items: actions.map(({ who, spans }) => ({ who, spans: spansData(spans) })) },
  };
}
