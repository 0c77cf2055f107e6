import type { Alignment, Borders, Fill, Font, Style } from 'exceljs';
import type { Status } from '../../../../fetch/dataset.ts';

/** ARGB. Chosen so that they keep their contrast when printed in grey. */
export const COLOURS = {
  ink: 'FF1B2A41',
  text: 'FF22272E',
  quiet: 'FF6B7280',
  accent: 'FF0B6E69',
  rule: 'FFC9D1DA',
  band: 'FFEEF2F6',
  warnInk: 'FF7A4100',
  warnBand: 'FFFFF3D6',
  /** For changes with a better direction. Green and dark red differ in brightness, and the arrow also stays. */
  better: 'FF0F6B3F',
  worse: 'FFA3200F',
} as const;

/**
 * The font of all cells, and of the workbook's default style, in which column widths are measured. Arial has the same
 * widths everywhere: if it is missing, a metric-compatible font replaces it. 10 points are 8.1 points on paper at the
 * smallest scale.
 */
export const FONT = { name: 'Arial', size: 10 } as const;

// LibreOffice shows a font without a name as serif, so every style needs a complete font.
export const font = (more: Partial<Font> = {}): Partial<Font> => ({
  name: FONT.name,
  family: 2,
  size: FONT.size,
  color: { argb: COLOURS.text },
  ...more,
});
export const fill = (argb: string): Fill => ({ type: 'pattern', pattern: 'solid', fgColor: { argb } });
export const borderLine = (
  edge: 'top' | 'bottom',
  style: 'thin' | 'hair' | 'medium',
  argb: string,
): Partial<Borders> => ({
  [edge]: { style, color: { argb } },
});
// Explicitly left: otherwise right-to-left text would be aligned right, and a title would leave the page.
export const middle: Partial<Alignment> = { vertical: 'middle', horizontal: 'left' };
export const top: Partial<Alignment> = { vertical: 'top', horizontal: 'left' };

export type CellStyle = Partial<Style>;

/** The styles of everything except figures. */
export const STYLES = {
  title: { font: font({ size: 16, bold: true, color: { argb: COLOURS.ink } }), alignment: middle },
  wrappedTitle: {
    font: font({ size: 16, bold: true, color: { argb: COLOURS.ink } }),
    alignment: { ...middle, wrapText: true },
  },
  packTitle: {
    font: font({ size: 20, bold: true, color: { argb: COLOURS.ink } }),
    alignment: { ...middle, wrapText: true },
  },
  classification: { font: font({ bold: true, color: { argb: COLOURS.warnInk } }), alignment: middle },
  packPeriod: { font: font({ size: 12, color: { argb: COLOURS.ink } }), alignment: { ...middle, wrapText: true } },
  takeaway: {
    font: font({ size: 11, bold: true, color: { argb: COLOURS.ink } }),
    alignment: { ...top, wrapText: true },
  },
  text: { font: font(), alignment: { ...top, wrapText: true } },
  textItem: { font: font(), alignment: { ...top, wrapText: true, indent: 1 } },
  /** A line beside the text shows where a comment begins and ends. */
  comment: {
    font: font(),
    alignment: { ...top, wrapText: true, indent: 1 },
    border: { left: { style: 'medium', color: { argb: COLOURS.accent } } },
  },
  commentItem: {
    font: font(),
    alignment: { ...top, wrapText: true, indent: 2 },
    border: { left: { style: 'medium', color: { argb: COLOURS.accent } } },
  },
  commentHeading: {
    font: font({ bold: true, color: { argb: COLOURS.accent } }),
    alignment: { ...top, wrapText: true, indent: 1 },
    border: { left: { style: 'medium', color: { argb: COLOURS.accent } } },
  },
  approval: { font: font({ bold: true, color: { argb: COLOURS.accent } }), alignment: { ...middle, wrapText: true } },
  plain: { font: font(), alignment: middle },
  quiet: { font: font({ color: { argb: COLOURS.quiet } }), alignment: { ...top, wrapText: true } },
  quietRight: {
    font: font({ color: { argb: COLOURS.quiet } }),
    alignment: { vertical: 'middle', horizontal: 'right' },
  },
  label: { font: font({ color: { argb: COLOURS.quiet } }), alignment: top },
  subtitle: { font: font({ bold: true, color: { argb: COLOURS.ink } }), alignment: middle },
  heading: {
    font: font({ size: 12, bold: true, color: { argb: COLOURS.ink } }),
    alignment: middle,
    border: borderLine('bottom', 'thin', COLOURS.ink),
  },
  back: { font: font({ color: { argb: COLOURS.accent }, underline: true }), alignment: top },
  warning: {
    font: font({ bold: true, color: { argb: COLOURS.warnInk } }),
    fill: fill(COLOURS.warnBand),
    alignment: { ...middle, wrapText: true },
  },
  headerLabel: {
    font: font({ bold: true, color: { argb: COLOURS.ink } }),
    fill: fill(COLOURS.band),
    alignment: { vertical: 'top', horizontal: 'left', wrapText: true },
    border: borderLine('bottom', 'medium', COLOURS.ink),
  },
  headerValue: {
    font: font({ bold: true, color: { argb: COLOURS.ink } }),
    fill: fill(COLOURS.band),
    alignment: { vertical: 'top', horizontal: 'right', wrapText: true },
    border: borderLine('bottom', 'medium', COLOURS.ink),
  },
  headerIndented: {
    font: font({ bold: true, color: { argb: COLOURS.ink } }),
    fill: fill(COLOURS.band),
    alignment: { vertical: 'top', horizontal: 'left', wrapText: true, indent: 1 },
    border: borderLine('bottom', 'medium', COLOURS.ink),
  },
  /** The heading of a metric above its columns. */
  headerOver: {
    font: font({ bold: true, color: { argb: COLOURS.ink } }),
    fill: fill(COLOURS.band),
    alignment: { vertical: 'top', horizontal: 'center', wrapText: true },
    border: { ...borderLine('bottom', 'thin', COLOURS.rule), left: { style: 'thin', color: { argb: COLOURS.rule } } },
  },
  headerBlank: { font: font(), fill: fill(COLOURS.band) },
  scorecardLabel: {
    font: font(),
    alignment: { ...middle, wrapText: true },
    border: borderLine('bottom', 'hair', COLOURS.rule),
  },
  scorecardText: {
    font: font(),
    alignment: { ...middle, wrapText: true },
    border: borderLine('bottom', 'hair', COLOURS.rule),
  },
  headerSecondary: {
    font: font({ color: { argb: COLOURS.quiet } }),
    fill: fill(COLOURS.band),
    alignment: { vertical: 'top', horizontal: 'right', wrapText: true },
    border: borderLine('bottom', 'medium', COLOURS.ink),
  },
  cellText: {
    font: font(),
    alignment: { ...top, wrapText: true },
    border: borderLine('bottom', 'hair', COLOURS.rule),
  },
  cellQuiet: {
    font: font({ color: { argb: COLOURS.quiet } }),
    alignment: { ...top, wrapText: true },
    border: borderLine('bottom', 'hair', COLOURS.rule),
  },
  cellLink: {
    font: font({ color: { argb: COLOURS.accent }, underline: true }),
    alignment: { ...top, wrapText: true },
    border: borderLine('bottom', 'hair', COLOURS.rule),
  },
  cellWarning: {
    font: font({ color: { argb: COLOURS.warnInk } }),
    fill: fill(COLOURS.warnBand),
    alignment: { vertical: 'top', horizontal: 'left', wrapText: true, indent: 1 },
    border: borderLine('bottom', 'hair', COLOURS.rule),
  },
  cellCount: {
    font: font(),
    alignment: { vertical: 'top', horizontal: 'right' },
    numFmt: '#,##0',
    border: borderLine('bottom', 'hair', COLOURS.rule),
  },
  cellCode: {
    font: font({ name: 'Courier New', family: 3, color: { argb: COLOURS.quiet } }),
    alignment: { ...top, wrapText: true },
    border: borderLine('bottom', 'hair', COLOURS.rule),
  },
} as const satisfies Record<string, CellStyle>;

/** Fonts of changes with a better direction. */
export const TONE_STYLES = {
  better: { color: { argb: COLOURS.better } },
  worse: { color: { argb: COLOURS.worse } },
} as const;

const statusStyle = (ink: string, ground: string): CellStyle => ({
  font: font({ bold: true, color: { argb: ink } }),
  fill: fill(ground),
  // The cell beside it has a figure that is aligned to the right.
  alignment: { ...middle, horizontal: 'left', indent: 1 },
  border: borderLine('bottom', 'hair', COLOURS.rule),
});

/** Styles of cells with a status, which name it also by shape and word. */
export const STATUS_STYLES = {
  on_target: statusStyle('FF0F5132', 'FFDDF3E4'),
  watch: statusStyle(COLOURS.warnInk, COLOURS.warnBand),
  breached: statusStyle('FF8B1A1A', 'FFFBE3E1'),
  undefined: statusStyle(COLOURS.quiet, COLOURS.band),
} as const satisfies Record<Status, CellStyle>;
