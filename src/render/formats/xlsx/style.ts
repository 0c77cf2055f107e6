import type { Alignment, Borders, Fill, Font, Style } from 'exceljs';
import type { Status } from '../../../fetch/dataset.ts';
import type { Words } from '../../../i18n/messages.ts';
import { figureFormatter } from '../../figures/format-value.ts';
import { defaultDecimals, type Quantity, type Rounding } from '../../figures/quantity.ts';

/** ARGB. Chosen to keep their contrast when printed in grey. */
export const COLOURS = {
  ink: 'FF1B2A41',
  text: 'FF22272E',
  quiet: 'FF6B7280',
  accent: 'FF0B6E69',
  rule: 'FFC9D1DA',
  band: 'FFEEF2F6',
  warnInk: 'FF7A4100',
  warnBand: 'FFFFF3D6',
} as const;

// LibreOffice shows a font without a name as serif, so every style has a complete font.
const font = (more: Partial<Font> = {}): Partial<Font> => ({
  name: 'Calibri',
  family: 2,
  size: 11,
  color: { argb: COLOURS.text },
  ...more,
});
const fill = (argb: string): Fill => ({ type: 'pattern', pattern: 'solid', fgColor: { argb } });
const borderLine = (edge: 'top' | 'bottom', style: 'thin' | 'hair' | 'medium', argb: string): Partial<Borders> => ({
  [edge]: { style, color: { argb } },
});
// Explicitly left: otherwise right-to-left text is aligned right, and a title leaves the page.
const middle: Partial<Alignment> = { vertical: 'middle', horizontal: 'left' };
const top: Partial<Alignment> = { vertical: 'top', horizontal: 'left' };

export type CellStyle = Partial<Style>;

const decimalPlaces = (decimals: number): string => (decimals === 0 ? '' : `.${'0'.repeat(decimals)}`);

/**
 * Excel's number format of a quantity's figures. Changes have an arrow and a sign, so that colour is not needed.
 * @param decimals the figure's, from `createRounder`; the quantity's default when absent
 */
export function quantityNumberFormat(quantity: Quantity, decimals: number = defaultDecimals(quantity)): string {
  const places = decimalPlaces(decimals);
  switch (quantity.kind) {
    case 'ratio':
      return `0${places}%`;
    case 'points':
      return `"▲ "+0${places};"▼ "-0${places};"= "0${places}`;
    case 'relative':
      return `"▲ "+0${places}%;"▼ "-0${places}%;"= "0${places}%`;
    case 'difference':
      return `"▲ "+#,##0${places};"▼ "-#,##0${places};"= "0`;
    case 'count':
    case 'amount':
    case 'duration':
      return `#,##0${places}`;
    case 'bucket':
      return quantity.granularity === 'month' ? 'mmm yyyy' : 'ddd d mmm yyyy';
    case 'day':
      return 'd mmm yyyy';
    case 'instant':
      return 'yyyy-mm-dd hh:mm:ss';
    case 'identifier':
      return '0';
    case 'text':
      return '@';
  }
}

const ARROWS = { '-1': '▼ ', '0': '= ', '1': '▲ ' } as const;

/**
 * The number format of one figure, with the decimals that it is rounded to. A bound becomes a literal text that the cell
 * shows instead of its number.
 * @param locale BCP 47, for the bound; Excel formats figures by its own locale
 */
export function figureNumberFormat(quantity: Quantity, { decimals, bound }: Rounding, locale: string): string {
  if (bound === undefined) return quantityNumberFormat(quantity, decimals);
  const change = quantity.kind === 'points' || quantity.kind === 'relative' || quantity.kind === 'difference';
  const arrow = change ? ARROWS[bound.value < 0 ? '-1' : '1'] : '';
  // One section per sign: with a single section Excel would add a minus sign.
  const text = `"${arrow}${bound.is}${figureFormatter(quantity, locale)(bound.value)}"`;
  return `${text};${text}`;
}

/** Adds the unit of a change to the cell where the header cannot name it. */
const withUnit = (format: string, quantity: Quantity, { table }: Words): string =>
  quantity.kind === 'points'
    ? format
        .split(';')
        .map((part) => `${part}" ${table.points}"`)
        .join(';')
    : format;

/** What the style of a data cell depends on. */
export interface DataStyle {
  readonly quantity: Quantity;
  /** The previous value and the change are shown in grey. */
  readonly secondary: boolean;
  /** The bucket is still running. */
  readonly partial: boolean;
  readonly total: boolean;
  /** The column mixes units, so its header cannot name one. */
  readonly unitInCell: boolean;
  /** Of the cell's figure; the quantity's default when absent. */
  readonly rounding?: Rounding;
}

const isText = (quantity: Quantity): boolean => quantity.kind === 'text';

const isTextLike = (quantity: Quantity): boolean => quantity.kind === 'text' || quantity.kind === 'identifier';
const isDate = (quantity: Quantity): boolean => ['bucket', 'day', 'instant'].includes(quantity.kind);

function cellNumberFormat(
  { quantity, rounding, unitInCell, partial }: DataStyle,
  words: Words,
  locale: string,
): string {
  const format =
    rounding === undefined ? quantityNumberFormat(quantity) : figureNumberFormat(quantity, rounding, locale);
  const running = partial && quantity.kind === 'bucket' ? `" · ${words.table.stillRunning}"` : '';
  return `${unitInCell ? withUnit(format, quantity, words) : format}${running}`;
}

function dataStyle(style: DataStyle, undefinedValue: boolean, words: Words, locale: string): CellStyle {
  const { quantity, partial, total } = style;
  const colour = undefinedValue || style.secondary ? COLOURS.quiet : COLOURS.text;
  return {
    font: font({ italic: partial, bold: total, color: { argb: colour } }),
    alignment: {
      ...middle,
      horizontal: isTextLike(quantity) || isDate(quantity) ? 'left' : 'right',
      wrapText: isText(quantity),
    },
    numFmt: undefinedValue ? '@' : cellNumberFormat(style, words, locale),
    ...(total
      ? {
          fill: fill(COLOURS.band),
          border: { ...borderLine('top', 'thin', COLOURS.ink), ...borderLine('bottom', 'thin', COLOURS.ink) },
        }
      : { border: borderLine('bottom', 'hair', COLOURS.rule) }),
  };
}

/** The styles of everything but the figures. */
export const STYLES = {
  title: { font: font({ size: 16, bold: true, color: { argb: COLOURS.ink } }), alignment: middle },
  coverTitle: {
    font: font({ size: 26, bold: true, color: { argb: COLOURS.ink } }),
    alignment: { ...middle, wrapText: true },
  },
  coverClassification: { font: font({ bold: true, color: { argb: COLOURS.warnInk } }), alignment: middle },
  coverOrganization: { font: font({ size: 14, color: { argb: COLOURS.accent } }), alignment: middle },
  coverPeriod: { font: font({ size: 14, color: { argb: COLOURS.ink } }), alignment: middle },
  band: { fill: fill(COLOURS.ink), font: font() },
  text: { font: font(), alignment: { ...top, wrapText: true } },
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
    font: font({ name: 'Consolas', family: 3, size: 9, color: { argb: COLOURS.quiet } }),
    alignment: { ...top, wrapText: true },
    border: borderLine('bottom', 'hair', COLOURS.rule),
  },
} as const satisfies Record<string, CellStyle>;

const statusStyle = (ink: string, ground: string): CellStyle => ({
  font: font({ bold: true, color: { argb: ink } }),
  fill: fill(ground),
  // Beside a figure that is aligned to the right.
  alignment: { ...middle, horizontal: 'left', indent: 1 },
  border: borderLine('bottom', 'hair', COLOURS.rule),
});

/** Of the cells with a status, which name it by shape and word too. */
export const STATUS_STYLES = {
  on_target: statusStyle('FF0F5132', 'FFDDF3E4'),
  watch: statusStyle(COLOURS.warnInk, COLOURS.warnBand),
  breached: statusStyle('FF8B1A1A', 'FFFBE3E1'),
  undefined: statusStyle(COLOURS.quiet, COLOURS.band),
} as const satisfies Record<Status, CellStyle>;

/**
 * Returns the same object for equal styles: exceljs caches styles by object identity, which makes writing twice as fast.
 * @param words the messages of `locale`
 * @param locale BCP 47
 */
export function createDataStyles(
  words: Words,
  locale: string,
): (style: DataStyle, undefinedValue: boolean) => CellStyle {
  const made = new Map<string, CellStyle>();
  return (style, undefinedValue) => {
    const key = `${JSON.stringify(style)}${undefinedValue}`;
    const known = made.get(key) ?? dataStyle(style, undefinedValue, words, locale);
    made.set(key, known);
    return known;
  };
}

/** Height of one line of text, in points. */
export const LINE_POINTS = 15;

/** How many lines `text` takes in a column of `width` characters, wrapped between words as Excel does. */
export function lineCount(text: string, width: number): number {
  const columns = Math.max(1, Math.floor(width));
  if (text.length <= columns && !text.includes('\n')) return 1;
  return text.split('\n').reduce((lines, paragraph) => {
    let used = 0;
    let count = 1;
    for (const word of paragraph.split(' ')) {
      if (used > 0 && used + 1 + word.length > columns) {
        count += 1;
        used = 0;
      }
      used += word.length + (used > 0 ? 1 : 0);
      // A word longer than the column breaks at the column's end.
      count += Math.max(0, Math.ceil(used / columns) - 1);
      used = used > columns ? used % columns : used;
    }
    return lines + count;
  }, 0);
}

/** The height in points of a row of so many lines. */
export const lineHeightPoints = (lines: number): number => lines * LINE_POINTS + 3;

/** The height in points of a row with these texts in columns of these widths; at least one line. */
export const textRowPoints = (...texts: readonly (readonly [text: string | undefined, width: number])[]): number =>
  lineHeightPoints(Math.max(1, ...texts.map(([text, width]) => lineCount(text ?? '', width))));
