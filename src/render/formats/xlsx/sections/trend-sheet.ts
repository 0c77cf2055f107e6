import { unitLabel } from '../../../figures/format-value.ts';
import type { SectionOf, TrendPanel } from '../../../pack/pack.ts';
import { areaSlice, CHART_ROW_POINTS } from '../charts/chart-placement.ts';
import { type ChartData, panelBlock } from '../charts/data-blocks.ts';
import { panelXml } from '../charts/panel-xml.ts';
import type { SheetDrawing } from '../package/drawing-parts.ts';
import type { WorkbookFile } from '../package/workbook-writer.ts';
import { type Page, pageAt, scaleForHeight } from '../style/page-layout.ts';
import { COLOURS } from '../style/styles.ts';
import { totalWidth } from '../style/text-size.ts';
import {
  buildFooter,
  FIRST_PRINTED_ROW,
  titlePoints,
  type WorkbookContext,
  writeSheetHeading,
} from '../workbook-context.ts';
import { writeGrid } from './grid/grid-rows.ts';
import { PLAIN_HEADINGS } from './grid/headings.ts';
import { sectionGrid } from './grid/section-grid.ts';
import { footnotes, introduction, linesPoints, writeLines } from './sheet-lines.ts';

const MAX_PANELS_PER_ROW = 3;
/** Up to this many panels are drawn large, two side by side. */
const MAX_LARGE_PANELS = 4;
const MIN_BAND_ROWS = 9;
const MAX_BAND_ROWS = 17;
/** How many bands of small charts a page holds. */
const BANDS_PER_PAGE = 3;

/** Bands of small charts: the rows of each, `CHART_ROW_POINTS` high, and the bands that begin a page. */
interface Bands {
  readonly abreast: number;
  readonly rows: number;
  readonly count: number;
}

function layoutBands(panels: number, page: Page, around: number): Bands {
  const abreast = panels <= MAX_LARGE_PANELS ? Math.min(2, Math.max(1, panels)) : MAX_PANELS_PER_ROW;
  const count = Math.ceil(panels / abreast);
  const onPage = Math.min(BANDS_PER_PAGE, Math.max(1, count));
  const fitting = Math.floor((page.points - around) / onPage / CHART_ROW_POINTS);
  return { abreast, count, rows: Math.min(MAX_BAND_ROWS, Math.max(MIN_BAND_ROWS, fitting)) };
}

function panelDrawings(
  section: SectionOf<'trend'>,
  { panels }: Pick<ChartData, 'panels'>,
  { abreast, rows }: Bands,
  top: number,
  widths: readonly number[],
  { words, locale }: Pick<WorkbookContext, 'words' | 'locale'>,
): SheetDrawing[] {
  const range = panels.get(section.table.id);
  if (range === undefined) return [];
  // The same block as on the data sheet, because the chart refers to its columns.
  const { categories, series } = panelBlock('', '', { target: '', band: '' }, section.panels);
  let column = 0;
  return section.panels.map((panel: TrendPanel, index): SheetDrawing => {
    const own = column;
    const limits = own + (panel.target === undefined ? 1 : 2);
    column = limits + (panel.band === undefined ? 0 : 2);
    const unit = unitLabel(panel.quantity, words);
    const partial = new Map(panel.points.map((point) => [point.label, point.partial]));
    const xml = panelXml(
      {
        title: unit === undefined || unit === '%' ? panel.label : `${panel.label} (${unit})`,
        quantity: panel.quantity,
        categories,
        values: series[own]?.values ?? [],
        partial: categories.map((label) => partial.get(label) === true),
        target: panel.target === undefined ? undefined : series[own + 1]?.values,
        band: series.slice(limits, column).map(({ values }) => values),
        column: own + 1,
      },
      range,
      locale,
    );
    const row = top + Math.floor(index / abreast) * rows;
    const area = { widths, row, left: 0, right: totalWidth(widths), rows };
    return {
      xml,
      name: `${section.title}: ${panel.label}`,
      description: panel.description,
      ...areaSlice(area, index % abreast, abreast),
    };
  });
}

/** Writes a section of small charts. Their figures are in a table below, which is not printed. */
export async function writeTrendSheet(
  book: WorkbookFile,
  context: WorkbookContext,
  section: SectionOf<'trend'>,
  name: string,
): Promise<void> {
  const { dataset, words, locale, page, chartData } = context;
  const { table, columns, panels } = section;
  const grid = sectionGrid(dataset, table, columns, PLAIN_HEADINGS, words, locale, section.cells, panels);
  const filler = page.characters - totalWidth(grid.widths);
  const widths = filler >= 1 ? [...grid.widths, filler] : grid.widths;
  // The table may be wider than the page, but the charts may not.
  const onPage = widths.findIndex((_, index) => totalWidth(widths.slice(0, index + 1)) > page.characters + 0.5);
  const shown = onPage === -1 ? widths : widths.slice(0, Math.max(1, onPage));
  const lines = { columns: shown.length, characters: totalWidth(shown) };
  const above = introduction(section, words);
  const below = footnotes(section);
  const around = titlePoints(section.title, lines.characters) + linesPoints([...above, ...below], lines) + 16;
  const bands = layoutBands(panels.length, pageAt(page, 100), around);
  const sheet = book.addSheet(name, {
    widths,
    paper: page.paper,
    // Charts have a least height. The notes below them must nevertheless stay on their page.
    scale: scaleForHeight(around + Math.min(BANDS_PER_PAGE, bands.count) * bands.rows * CHART_ROW_POINTS, page, 100),
    printed: section.printed,
    footer: buildFooter(context),
    sharedStrings: true,
    headerRow: FIRST_PRINTED_ROW + above.length + below.length + 3 + bands.count * bands.rows,
    ...(section.warnings.length > 0 ? { tab: COLOURS.warnInk } : {}),
  });
  await writeSheetHeading(sheet, section.title, context, lines);
  await writeLines(sheet, above, lines);
  const top = sheet.rowCount;
  for (let band = 0; band < bands.count; band += 1) {
    if (band > 0 && band % BANDS_PER_PAGE === 0) sheet.addPageBreak();
    for (let row = 0; row < bands.rows; row += 1) await sheet.addRow([], CHART_ROW_POINTS);
  }
  if (chartData !== undefined && panels.length > 0) {
    sheet.addDrawings(panelDrawings(section, chartData, bands, top, shown, context));
  }
  await sheet.addRow([], 6);
  await writeLines(sheet, below, lines);
  const last = { from: FIRST_PRINTED_ROW, to: sheet.rowCount };
  await sheet.addRow([], 14);
  await sheet.addRow([], 6);
  const rows = grid.rows[Symbol.iterator]();
  try {
    const slice = { id: table.id, count: grid.count, last: true };
    await writeGrid(sheet, slice, grid, rows, lines, section.empty ?? words.workbook.section.noRows);
  } finally {
    rows.return?.();
  }
  const empty = grid.count === 0;
  sheet.addPrintArea({
    rows: empty ? { ...last, to: sheet.rowCount } : last,
    columns: { from: 0, to: shown.length - 1 },
  });
  await sheet.close();
}
