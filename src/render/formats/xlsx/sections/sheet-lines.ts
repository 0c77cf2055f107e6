import type { Words } from '../../../../i18n/messages.ts';
import type { PackSection } from '../../../pack/pack.ts';
import type { SheetWriter } from '../package/sheet-writer.ts';
import { FONT, STYLES } from '../style/styles.ts';
import { LINE_POINTS, type LineWidth, measuredLineCount } from '../style/text-size.ts';
import { commentLines, type SheetLine } from './comment-lines.ts';

export type { SheetLine };

function linePoints(
  { text, style: { font: { bold = false, size = FONT.size } = {} } }: SheetLine,
  width: LineWidth,
): number {
  const scale = size / FONT.size;
  return measuredLineCount(text, width.characters / scale, { bold }) * LINE_POINTS * scale + 1.5;
}

export const linesPoints = (lines: readonly SheetLine[], width: LineWidth): number =>
  lines.reduce((sum, line) => sum + linePoints(line, width), 0);

export async function writeLines(sheet: SheetWriter, lines: readonly SheetLine[], width: LineWidth): Promise<void> {
  for (const line of lines) {
    const span = width.columns > 1 ? { span: width.columns } : {};
    const runs = line.runs === undefined ? {} : { runs: line.runs };
    await sheet.addRow([{ value: line.text, style: line.style, ...runs, ...span }], linePoints(line, width));
  }
}

export const quietLines = (texts: readonly string[]): SheetLine[] =>
  texts.map((text) => ({ text, style: STYLES.quiet }));

/**
 * The lines between the title of a section and its figures.
 * @param more facts about this sheet, if the section has several
 */
export function introduction(
  { takeaway, description, facts, warnings, comments }: PackSection,
  words: Words,
  more: readonly string[] = [],
): SheetLine[] {
  return [
    ...(takeaway === undefined ? [] : [{ text: takeaway, style: STYLES.takeaway }]),
    ...(description === undefined ? [] : [{ text: description, style: STYLES.text }]),
    ...quietLines([...facts, ...more]),
    ...warnings.map((text) => ({ text, style: STYLES.warning })),
    ...comments.flatMap((each) => commentLines(each, words)),
  ];
}

/** The lines below a section's figures. */
export const footnotes = ({ notes, legend }: PackSection): SheetLine[] => quietLines([...notes, ...legend]);
