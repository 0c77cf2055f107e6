import type { Cell, Worksheet } from 'exceljs';
import type { Words } from '../../../i18n/messages.ts';
import { COLOURS, fill, font, middle, STYLES, top } from '../../../render/formats/xlsx/style/styles.ts';
import type { FigureTarget, OutlineColumn, ReportOutline, SectionOutline } from '../binding/bindings.ts';
import { figureSuffix } from '../binding/figure-names.ts';
import { nameKey, readName } from '../binding/names.ts';
import { DEFAULT_DURATION, metricFigures, type StarterTexts } from './section-columns.ts';

const HEADLINES = 3;
/** Texts span at least this many columns, even if there are fewer figures. */
const MIN_COLUMNS = 6;

/** The first sheet: title, period, sentences, and the total of every metric. Each filled cell has a name. */
export function writeFrontSheet(sheet: Worksheet, outline: ReportOutline, texts: StarterTexts): void {
  const totals = outline.sections.map((section) => buildTotals(section, outline, texts));
  const columns = Math.max(MIN_COLUMNS, ...totals.flat().map(({ cells }) => cells.length + 1));
  sheet.getColumn(1).width = 42;
  for (let column = 2; column <= columns; column += 1) sheet.getColumn(column).width = 16;
  let row = 1;
  const line = (name: string, style: Cell['style'], height?: number): void => {
    if (readName(name, outline).kind !== 'bound') return;
    sheet.mergeCells(row, 1, row, columns);
    const cell = sheet.getCell(row, 1);
    named(cell, name);
    cell.style = style;
    if (height !== undefined) sheet.getRow(row).height = height;
    row += 1;
  };
  line('docket.title', STYLES.packTitle, 32);
  line('docket.period.label', STYLES.packPeriod, 20);
  line('docket.org', STYLES.packPeriod, 20);
  line('docket.classification', STYLES.classification);
  if (outline.approval) line('docket.approval', STYLES.text);
  if (outline.corrections) line('docket.correction', STYLES.text, 30);
  row += 1;
  for (let number = 1; number <= Math.min(HEADLINES, outline.headlines); number += 1)
    line(`docket.headline.${number}`, STYLES.takeaway, 32);
  if (outline.commented.length > 0) line('docket.comment', STYLES.text, 60);
  row += 1;
  for (const [index, { title }] of outline.sections.entries())
    row = writeTotals(sheet, row, title, totals[index] ?? []);
  line('docket.completeness', STYLES.text, 30);
  writeMadeAt(sheet, row, texts.words);
}

/** Writes the totals of a section, one row per metric. @returns the row below them */
function writeTotals(sheet: Worksheet, from: number, title: string, shown: readonly TotalRow[]): number {
  const [first] = shown;
  if (first === undefined) return from;
  const heading = sheet.getCell(from, 1);
  heading.value = title;
  const headings = [
    heading,
    ...first.cells.map(({ heading: text }, index) => headingCell(sheet, from, index + 2, text)),
  ];
  sheet.getRow(from).height = 30;
  for (const cell of headings) {
    cell.font = font({ bold: true, color: { argb: COLOURS.ink } });
    cell.fill = fill(COLOURS.band);
    cell.alignment = { ...middle, horizontal: cell === heading ? 'left' : 'right', wrapText: true };
  }
  for (const [index, { label, cells }] of shown.entries()) {
    const at = from + 1 + index;
    sheet.getCell(at, 1).value = label;
    sheet.getCell(at, 1).style = STYLES.text;
    for (const [offset, { name, format, sample }] of cells.entries()) {
      const cell = sheet.getCell(at, offset + 2);
      cell.value = sample;
      cell.name = name;
      cell.style = { font: font(), numFmt: format, alignment: { ...top, horizontal: 'right' } };
    }
  }
  return from + shown.length + 2;
}

function headingCell(sheet: Worksheet, row: number, column: number, text: string): Cell {
  const cell = sheet.getCell(row, column);
  cell.value = text;
  return cell;
}

interface TotalCell {
  readonly name: string;
  readonly heading: string;
  readonly format: string;
  readonly sample: string | number;
}

/** A metric with the figures that names can refer to. */
interface TotalRow {
  readonly label: string;
  readonly cells: readonly TotalCell[];
}

function buildTotals(section: SectionOutline, outline: ReportOutline, texts: StarterTexts): readonly TotalRow[] {
  if (!section.totals) return [];
  const rows = section.columns
    .filter(({ kind }) => kind === 'metric')
    .map((column): TotalRow => {
      const cells = metricFigures(column, section, texts).flatMap(({ of, figure }): TotalCell[] => {
        const name = `docket.${nameKey(section.id)}.${nameKey(column.name)}${figureSuffix(of.target)}${unitSuffix(column, of.target)}`;
        const sample = figure.samples[0];
        // Ids with the same spelling in names are ambiguous, so they get no cell.
        if (readName(name, outline).kind !== 'bound' || sample === undefined || sample instanceof Date) return [];
        return [{ name, heading: formatHeading(of.target, section, texts), format: figure.format, sample }];
      });
      const [label = column.name] = column.labels;
      return { label: unitLabel(label, column, texts), cells };
    });
  return rows.filter(({ cells }) => cells.length > 0);
}

const unitLabel = (label: string, { unit, shownIn = DEFAULT_DURATION }: OutlineColumn, { words }: StarterTexts) =>
  unit === 'seconds' ? `${label} (${words.table.durations[shownIn]})` : label;

/** If the report sets no unit, names of durations include one. */
const unitSuffix = ({ unit, shownIn }: OutlineColumn, { figure }: FigureTarget): string =>
  unit === 'seconds' && shownIn === undefined && figure !== 'status' && figure !== 'change'
    ? `.${DEFAULT_DURATION}`
    : '';

function formatHeading(
  target: Parameters<typeof figureSuffix>[0],
  { comparisons, toDate }: SectionOutline,
  { words: { table, pack, workbook } }: StarterTexts,
): string {
  switch (target.figure) {
    case 'value':
      return pack.value;
    case 'previous':
      return table.previousName[target.comparison];
    case 'change':
      return workbook.section.change(comparisons.length === 1 ? undefined : target.comparison);
    case 'to_date':
      return toDate === null ? '' : table.toDateName[toDate];
    case 'target':
      return pack.scorecard.target;
    case 'status':
      return pack.scorecard.status;
  }
}

function writeMadeAt(sheet: Worksheet, row: number, { workbook: { run } }: Words): void {
  sheet.getCell(row, 1).value = run.made;
  const cell = sheet.getCell(row, 2);
  named(cell, 'docket.made_at');
  cell.style = { font: font(), numFmt: 'yyyy-mm-dd hh:mm', alignment: { ...middle, horizontal: 'left' } };
  sheet.getCell(row, 1).style = STYLES.text;
}

/** A cell shows its name until it is filled. */
function named(cell: Cell, name: string): void {
  cell.value = name;
  cell.name = name;
}
