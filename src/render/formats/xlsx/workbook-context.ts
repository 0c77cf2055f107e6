import { isolateBidi } from '../../../base/text/bidi.ts';
import type { Dataset } from '../../../fetch/dataset.ts';
import { messagesFor, type Words } from '../../../i18n/messages.ts';
import { formatLocalDay } from '../../figures/format-date.ts';
import type { Pack } from '../../pack/pack.ts';
import type { CurrentLogo, FormatContext } from '../format.ts';
import { type ChartData, drawsCharts, planChartData } from './charts/data-blocks.ts';
import type { Footer } from './package/page-footer.ts';
import type { Cell } from './package/sheet-rows.ts';
import type { SheetWriter } from './package/sheet-writer.ts';
import { sheetNames } from './sheet-names.ts';
import { type Page, pageOf } from './style/page-layout.ts';
import { FONT, STYLES } from './style/styles.ts';
import { type LineWidth, measuredLineCount } from './style/text-size.ts';

/** Default number of data rows per sheet. Excel allows 48,576 more, which leaves room for headers, totals and notes. */
const ROWS_PER_SHEET = 1_000_000;
/** From this number of sections on, a pack has a table of contents. */
const MIN_CONTENTS_SECTIONS = 12;

/** `logo` and `classification` are shown on the summary; `classification` also on each printed page. */
export interface WorkbookOptions
  extends Pick<
    FormatContext,
    'run' | 'digest' | 'madeAt' | 'locale' | 'logo' | 'classification' | 'calendar' | 'signal'
  > {
  /** Data rows of a section per sheet. Default: `ROWS_PER_SHEET`. Only tests set it. */
  readonly rowsPerSheet?: number | undefined;
}

/** The names of the workbook's sheets. */
export interface WorkbookNames {
  readonly summary: string;
  /** Absent in a short pack. */
  readonly contents?: string;
  /** For each section, the sheets with its rows. Empty for the scorecard and the texts that the summary shows. */
  readonly sections: readonly (readonly string[])[];
  /** Absent if no chart needs a sheet of its own. */
  readonly charts?: string;
  readonly definitions: string;
  readonly run: string;
  /** The sheet exists only if a text is too long for its cell. */
  readonly longTexts: string;
}

/** What all sheets of a workbook share. */
export interface WorkbookContext {
  readonly pack: Pack;
  readonly dataset: Dataset;
  /** The run's id. */
  readonly run: string;
  /** SHA-256 (hex) of the definition. */
  readonly digest: string;
  /** Epoch ms. */
  readonly madeAt: number;
  /** BCP 47. */
  readonly locale: string;
  /** The messages of `locale`. */
  readonly words: Words;
  readonly logo: CurrentLogo;
  readonly page: Page;
  readonly names: WorkbookNames;
  /** Absent if there are no charts. */
  readonly chartData?: ChartData;
  readonly rowsPerSheet: number;
}

/**
 * Creates the context. Fixed sheets get their names first, so that a section called "Summary" is the one that is
 * renamed.
 */
export function createWorkbookContext(
  dataset: Dataset,
  pack: Pack,
  options: WorkbookOptions,
  logo: CurrentLogo,
): WorkbookContext {
  const { locale } = pack;
  const words = messagesFor(locale);
  const { sheets } = words.workbook;
  const rowsPerSheet = options.rowsPerSheet ?? ROWS_PER_SHEET;
  const hasContents = pack.sections.length >= MIN_CONTENTS_SECTIONS;
  const hasCharts = pack.sections.some(({ chart }) => chart?.place === 'own_sheet');
  const draws = drawsCharts(pack);
  const onSummary = new Set([pack.summary?.of, ...pack.remarks.map(({ of }) => of)]);
  const parts = pack.sections.map(({ table }) =>
    onSummary.has(table.id) ? 0 : Math.max(1, Math.ceil(table.rows.length / rowsPerSheet)),
  );
  const fixed = [
    sheets.summary,
    sheets.definitions,
    sheets.run,
    sheets.longTexts,
    ...(hasContents ? [sheets.contents] : []),
    ...(hasCharts ? [sheets.charts] : []),
    ...(draws ? [sheets.chartData] : []),
  ];
  const titles = pack.sections.flatMap(({ title }, index) => Array.from({ length: parts[index] ?? 1 }, () => title));
  const named = sheetNames([...fixed, ...titles], sheets.unnamed);
  const next = (): string => named.shift() ?? '';
  const [summary, definitions, run, longTexts] = [next(), next(), next(), next()];
  const names: WorkbookNames = {
    summary,
    definitions,
    run,
    longTexts,
    ...(hasContents ? { contents: next() } : {}),
    ...(hasCharts ? { charts: next() } : {}),
    sections: [],
  };
  const chartSheet = draws ? next() : undefined;
  const { targetColumn: target, usualColumn: band } = words.status;
  const headings = { summary, bucket: words.workbook.charts.bucket, target, band };
  return {
    pack,
    dataset,
    run: options.run,
    digest: options.digest,
    madeAt: options.madeAt,
    locale,
    words,
    rowsPerSheet,
    logo,
    page: pageOf(pack.paper),
    names: { ...names, sections: parts.map((count) => named.splice(0, count)) },
    ...(chartSheet === undefined ? {} : { chartData: planChartData(pack, chartSheet, headings) }),
  };
}

export const buildFooter = ({ dataset, pack, words, madeAt, locale }: WorkbookContext): Footer => ({
  pages: words.workbook.page('&P', '&N'),
  classification: pack.classification,
  left: `${isolateBidi(dataset.organization)} · ${isolateBidi(dataset.title)}`,
  // Without the time of day, which is in the appendix, because the footer is limited to 255 characters.
  right: `${dataset.period.label} · ${formatLocalDay(new Date(madeAt), dataset.period.timezone, locale)}`,
});

/** The first printed row: `writeSheetHeading` writes the link above it, which is not printed. */
export const FIRST_PRINTED_ROW = 2;
export const LINK_POINTS = 15;
export const TITLE_POINTS = 26;
const TITLE_SIZE = 16;
const TITLE_LINE_POINTS = 20;

/** The height in points of a title that wraps. */
export const titlePoints = (title: string, characters: number): number =>
  TITLE_POINTS +
  (measuredLineCount(title, (characters * FONT.size) / TITLE_SIZE, { bold: true }) - 1) * TITLE_LINE_POINTS;

/**
 * Writes the first two rows of a sheet: the link back, which is not printed, and the title.
 * @param width the width at which the title wraps; absent: it has one line
 */
export async function writeSheetHeading(
  sheet: SheetWriter,
  title: string,
  { names, words }: Pick<WorkbookContext, 'names' | 'words'>,
  width?: LineWidth,
): Promise<void> {
  const { contents } = names;
  const back = contents === undefined ? words.workbook.backToSummary : words.workbook.back;
  await sheet.addRow([{ value: back, style: STYLES.back, link: contents ?? names.summary }], LINK_POINTS);
  const span = width !== undefined && width.columns > 1 ? { span: width.columns } : {};
  const style = width === undefined ? STYLES.title : STYLES.wrappedTitle;
  const points = width === undefined ? TITLE_POINTS : titlePoints(title, width.characters);
  await sheet.addRow([{ value: title, style, ...span }], points);
}

/** Writes a row of column headings. */
export const writeHeader = (sheet: SheetWriter, labels: readonly string[]): Promise<void> =>
  sheet.addRow(
    labels.map((value) => ({ value, style: STYLES.headerLabel })),
    18,
  );

export const textCell = (value: string | undefined, style: Cell['style'] = STYLES.cellText): Cell => ({
  value: value ?? '',
  style,
});
