import { isolateBidi } from '../../../../base/text/bidi.ts';
import type { Logo } from '../../../../definitions/load/logo.ts';
import type { Words } from '../../../../i18n/messages.ts';
import type { Pack, PackSection } from '../../../pack/pack.ts';
import { correctionText } from '../../../pack/review/correction.ts';
import type { PictureDrawing } from '../package/drawing-parts.ts';
import type { SheetWriter } from '../package/sheet-writer.ts';
import type { WorkbookFile } from '../package/workbook-writer.ts';
import { commentLines, reportCommentLines } from '../sections/comment-lines.ts';
import { layoutScorecard, type ScorecardLayout, writeScorecard } from '../sections/scorecard.ts';
import { linesPoints, quietLines, type SheetLine, writeLines } from '../sections/sheet-lines.ts';
import { MIN_SCALE, type Page, pageAt, scaleForHeight } from '../style/page-layout.ts';
import { COLOURS, FONT, STYLES } from '../style/styles.ts';
import { LINE_POINTS, type LineWidth, measuredLineCount, totalWidth } from '../style/text-size.ts';
import { buildFooter, type WorkbookContext } from '../workbook-context.ts';

/** Maximum size in pixels. */
const MAX_LOGO_SIZE = { width: 240, height: 52 };
const LOGO_POINTS = 44;
const TITLE_SIZE = 20;
/** The height of a heading with the space above it. */
const HEADING_POINTS = 28;
/** Space above a paragraph, so that it does not touch the rule of its heading. */
const PARAGRAPH_GAP = 4;

/** Scales a large logo down, but never a small one up. */
function logoDrawing({ width, height, ...logo }: Logo, organization: string, { workbook }: Words): PictureDrawing {
  const scale = Math.min(1, MAX_LOGO_SIZE.width / width, MAX_LOGO_SIZE.height / height);
  return {
    ...logo,
    name: workbook.summary.logo,
    description: workbook.summary.logoOf(isolateBidi(organization)),
    width: Math.max(1, width * scale),
    height: Math.max(1, height * scale),
    from: { row: 0, column: 0 },
  };
}

/** A row that spans the sheet. */
interface HeadRow {
  readonly cell: SheetLine | undefined;
  readonly points: number;
}

const wrappedRow = (cell: SheetLine, characters: number): HeadRow => ({
  cell,
  points: measuredLineCount(cell.text, characters, { bold: true }) * LINE_POINTS + 3,
});

/** Logo, organization, title, period, classification and approval. */
function headRows({ pack, logo }: WorkbookContext, { characters }: LineWidth): HeadRow[] {
  const titleLines = measuredLineCount(pack.title, (characters * FONT.size) / TITLE_SIZE, { bold: true });
  const about = `${isolateBidi(pack.organization)} · ${pack.periodText}`;
  return [
    ...(logo.image === undefined ? [] : [{ cell: undefined, points: LOGO_POINTS }]),
    { cell: { text: pack.title, style: STYLES.packTitle }, points: titleLines * 27 + 2 },
    { cell: { text: about, style: STYLES.packPeriod }, points: measuredLineCount(about, characters / 1.2) * 16 + 2 },
    ...(pack.classification === undefined
      ? []
      : [{ cell: { text: pack.classification, style: STYLES.classification }, points: 16 }]),
    ...(pack.approval === undefined ? [] : [wrappedRow({ text: pack.approval, style: STYLES.approval }, characters)]),
  ];
}

/** What a corrected edition replaces and changes. Changes that are only counted here are listed on the run's sheet. */
const correctionLines = ({ pack: { correction }, names }: Pick<WorkbookContext, 'pack' | 'names'>): SheetLine[] =>
  correction === undefined
    ? []
    : [
        {
          text: `${correctionText(correction)}${correction.heading === '' ? '' : `. ${correction.heading}:`}`,
          style: STYLES.warning,
        },
        ...correction.changes.map((text) => ({ text: `– ${text}`, style: STYLES.text })),
        ...quietLines(correction.more === '' ? [] : [`${correction.more} → ${names.run}`]),
      ];

/**
 * Facts and notes about the figures. A scorecard's section has no sheet of its own, so its other texts are included.
 */
function scorecardNotes(
  { summaryNotes }: Pack,
  { warnings = [], legend = [], comments = [] }: Partial<PackSection>,
  words: Words,
): { above: SheetLine[]; below: SheetLine[] } {
  return {
    above: warnings.map((text) => ({ text, style: STYLES.warning })),
    below: [...comments.flatMap((each) => commentLines(each, words)), ...quietLines([...summaryNotes, ...legend])],
  };
}

async function writeHead(sheet: SheetWriter, rows: readonly HeadRow[], { columns }: LineWidth): Promise<void> {
  for (const { cell, points } of rows) {
    await sheet.addRow(
      cell === undefined ? [] : [{ value: cell.text, style: cell.style, ...(columns > 1 ? { span: columns } : {}) }],
      points,
    );
  }
}

/** A page that is used less than this is almost empty. */
const MIN_SHARE = 0.25;
/** The most points by which the estimated height may be too large. */
const SLACK = 80;

/**
 * The scale of the sheet, and whether the comments begin a second page. The figures always stay on the first page; a
 * few lines of comments stay with them, at the smallest scale.
 */
function firstPage(
  { opening, figures, said }: { readonly opening: number; readonly figures: number; readonly said: number },
  page: Page,
  wanted: number,
): { readonly scale: number; readonly breaks: boolean } {
  const points = opening + figures + said;
  const scale = scaleForHeight(points, page, wanted);
  if (points <= pageAt(page, scale).points) return { scale, breaks: false };
  const smallest = pageAt(page, MIN_SCALE).points;
  if (opening + figures <= smallest && said >= smallest * MIN_SHARE)
    return { scale: scaleForHeight(opening + figures, page, wanted), breaks: true };
  return { scale: points - SLACK <= smallest ? Math.min(wanted, MIN_SCALE) : wanted, breaks: false };
}

/**
 * Writes the summary: one page with logo, title, period, completeness, headlines and the scorecard. It is the sheet
 * that opens first.
 */
export async function writeSummary(book: WorkbookFile, context: WorkbookContext): Promise<void> {
  const { pack, page, words, logo, dataset } = context;
  const { summary, completeness, headlines } = pack;
  const layout: ScorecardLayout | undefined =
    summary === undefined ? undefined : layoutScorecard(summary.scorecard, page, context);
  const widths = layout?.widths ?? [page.characters];
  const width: LineWidth = { columns: widths.length, characters: totalWidth(widths) };
  const section = pack.sections.find(({ table }) => table.id === summary?.of);
  const notes = scorecardNotes(pack, section ?? {}, words);
  const head = headRows(context, width);
  const complete: SheetLine = {
    text: completeness.text,
    style: completeness.complete ? STYLES.quiet : STYLES.warning,
  };
  const news: SheetLine[] = headlines.map((text) => ({ text: `– ${text}`, style: STYLES.text }));
  const scope = summary === undefined ? '' : summary.scorecard.scope;
  const remarks = pack.remarks.map(({ title, paragraphs, comments }) => ({
    title,
    lines: [
      ...paragraphs.map((text): SheetLine => ({ text, style: STYLES.text })),
      ...comments.flatMap((each) => commentLines(each, words)),
    ],
  }));
  const changes = correctionLines(context);
  const comments = pack.comments.map((comment) => ({
    title: comment.heading,
    lines: reportCommentLines(comment, words),
  }));
  const opening =
    head.reduce((sum, row) => sum + row.points, 0) + linesPoints([...changes, complete, ...news], width) + 40;
  const figures = (layout?.points ?? 0) + linesPoints([...notes.above, ...notes.below], width) + 40;
  const said = [...comments, ...remarks].reduce(
    (sum, { lines }) => sum + HEADING_POINTS + linesPoints(lines, width) + lines.length * PARAGRAPH_GAP,
    0,
  );
  const { scale, breaks } = firstPage({ opening, figures, said }, page, layout?.scale ?? 100);
  const sheet = book.addSheet(context.names.summary, {
    widths,
    paper: page.paper,
    scale,
    printed: true,
    footer: buildFooter(context),
    tab: COLOURS.ink,
    sharedStrings: true,
  });
  if (logo.image !== undefined) sheet.addDrawings([logoDrawing(logo.image, dataset.organization, words)]);
  await writeHead(sheet, head, width);
  await writeLines(sheet, [...changes, complete], width);
  if (news.length > 0) {
    await writeHeading(sheet, words.status.headlines, width);
    await sheet.addRow([], PARAGRAPH_GAP);
    await writeLines(sheet, news, width);
  }
  if (summary !== undefined && layout !== undefined) {
    await writeHeading(sheet, section?.title ?? words.workbook.summary.figures, width);
    if (scope !== '') {
      await sheet.addRow([], PARAGRAPH_GAP);
      await writeLines(sheet, quietLines([scope]), width);
    }
    await writeLines(sheet, notes.above, width);
    await writeScorecard(sheet, layout, summary.of, context);
    await sheet.addRow([], 6);
    await writeLines(sheet, notes.below, width);
  }
  if (breaks) {
    sheet.addPageBreak();
    await writeHeading(sheet, words.review.csv.title, width);
  }
  for (const { title, lines } of [...comments, ...remarks]) {
    await writeHeading(sheet, title, width);
    for (const line of lines) {
      await sheet.addRow([], PARAGRAPH_GAP);
      await writeLines(sheet, [line], width);
    }
  }
  sheet.addPrintArea({ rows: { from: 1, to: sheet.rowCount }, columns: { from: 0, to: widths.length - 1 } });
  await sheet.close();
}

async function writeHeading(sheet: SheetWriter, text: string, { columns }: LineWidth): Promise<void> {
  await sheet.addRow([], 8);
  await sheet.addRow([{ value: text, style: STYLES.heading, ...(columns > 1 ? { span: columns } : {}) }], 20);
}
