import type { Alignment, Borders, Fill, Font, Style } from 'exceljs';
import { numberFormat as intlFormat } from '../../base/formats.ts';
import type { Words } from '../../words/words.ts';
import { DAY_SECONDS, figureReader, type Quantity } from '../format.ts';
import { type Rounding, usualDecimals } from '../rounding.ts';

/** A restrained palette that prints in grey and keeps its contrast: ink, one accent, one warning. */
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

// A font without a name renders as a serif face in LibreOffice, hence a whole font everywhere.
const font = (more: Partial<Font> = {}): Partial<Font> => ({
  name: 'Calibri',
  family: 2,
  size: 11,
  color: { argb: COLOURS.text },
  ...more,
});
const fill = (argb: string): Fill => ({ type: 'pattern', pattern: 'solid', fgColor: { argb } });
const line = (edge: 'top' | 'bottom', style: 'thin' | 'hair' | 'medium', argb: string): Partial<Borders> => ({
  [edge]: { style, color: { argb } },
});
// Without a side of its own a text from right to left stands at the right, where a title would run out of the page.
const middle: Partial<Alignment> = { vertical: 'middle', horizontal: 'left' };
const top: Partial<Alignment> = { vertical: 'top', horizontal: 'left' };

export type CellStyle = Partial<Style>;

const digits = (decimals: number): string => (decimals === 0 ? '' : `.${'0'.repeat(decimals)}`);

/**
 * Excel's number format of a quantity's figures. Directions have a sign and an arrow, so that nobody depends on a colour.
 * @param decimals as many as `rounder` says of the figure; what most figures of the quantity have when absent
 */
export function numberFormat(quantity: Quantity, decimals: number = usualDecimals(quantity)): string {
  const places = digits(decimals);
  switch (quantity.kind) {
    case 'ratio':
      return `0${places}%`;
    case 'duration':
      return { seconds: '0.0#####', clock: `[h]:mm:ss${places}`, days: `#,##0${places}` }[quantity.scale];
    case 'points':
      return `"▲ "+0${places};"▼ "-0${places};"= "0${places}`;
    case 'relative':
      return `"▲ "+0${places}%;"▼ "-0${places}%;"= "0${places}%`;
    case 'difference':
      return `"▲ "+#,##0${places};"▼ "-#,##0${places};"= "0`;
    case 'count':
    case 'amount':
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
 * The number format of one figure: its quantity's, with the decimals that it is rounded to. A bound is a text, which the
 * cell shows in place of its number.
 * @param locale BCP 47, of the bound; figures follow the reader's Excel
 */
export function figureFormat(quantity: Quantity, { decimals, bound }: Rounding, locale: string): string {
  if (bound === undefined) return numberFormat(quantity, decimals);
  const change = quantity.kind === 'points' || quantity.kind === 'relative' || quantity.kind === 'difference';
  const arrow = change ? ARROWS[bound.value < 0 ? '-1' : '1'] : '';
  // One for either sign: to a single one Excel would add the sign of a negative figure.
  const text = `"${arrow}${bound.is}${boundText(quantity, bound.value, decimals, locale)}"`;
  return `${text};${text}`;
}

function boundText(quantity: Quantity, value: number, decimals: number, locale: string): string {
  if (quantity.kind !== 'duration') return figureReader(quantity, locale)(value);
  const fixed = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  if (quantity.scale !== 'clock') {
    return intlFormat(locale, fixed).format(quantity.scale === 'days' ? value / DAY_SECONDS : value);
  }
  return `0:00:${intlFormat(locale, { ...fixed, minimumIntegerDigits: 2 }).format(value)}`;
}

/** Where a header cannot say the unit of a change, the cell does. Other figures have theirs in the metric's name. */
const withUnit = (format: string, quantity: Quantity, { table }: Words): string =>
  quantity.kind === 'points'
    ? format
        .split(';')
        .map((part) => `${part}" ${table.points}"`)
        .join(';')
    : format;

/** Where the cells of a column stand and how strongly they speak. */
export interface DataStyle {
  readonly quantity: Quantity;
  /** The previous period's value and the change step back behind the value itself. */
  readonly quiet: boolean;
  /** The bucket is still running. */
  readonly partial: boolean;
  readonly total: boolean;
  /** The column mixes units, so that its header cannot name one. */
  readonly unitInCell: boolean;
  /** Of the cell's own figure; as most figures of the quantity are rounded when absent. */
  readonly rounding?: Rounding;
}

const isText = (quantity: Quantity): boolean => quantity.kind === 'text';
/** A number that names something reads like a name. */
const isName = (quantity: Quantity): boolean => quantity.kind === 'text' || quantity.kind === 'identifier';
const isDate = (quantity: Quantity): boolean => ['bucket', 'day', 'instant'].includes(quantity.kind);

function formatOf({ quantity, rounding, unitInCell, partial }: DataStyle, words: Words, locale: string): string {
  const format = rounding === undefined ? numberFormat(quantity) : figureFormat(quantity, rounding, locale);
  const running = partial && quantity.kind === 'bucket' ? `" · ${words.table.stillRunning}"` : '';
  return `${unitInCell ? withUnit(format, quantity, words) : format}${running}`;
}

function dataStyle(style: DataStyle, undefinedValue: boolean, words: Words, locale: string): CellStyle {
  const { quantity, partial, total } = style;
  const colour = undefinedValue || style.quiet ? COLOURS.quiet : COLOURS.text;
  return {
    font: font({ italic: partial, bold: total, color: { argb: colour } }),
    alignment: {
      ...middle,
      horizontal: isName(quantity) || isDate(quantity) ? 'left' : 'right',
      wrapText: isText(quantity),
    },
    numFmt: undefinedValue ? '@' : formatOf(style, words, locale),
    ...(total
      ? {
          fill: fill(COLOURS.band),
          border: { ...line('top', 'thin', COLOURS.ink), ...line('bottom', 'thin', COLOURS.ink) },
        }
      : { border: line('bottom', 'hair', COLOURS.rule) }),
  };
}

/** The styles of the pages around the figures. */
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
  label: { font: font({ color: { argb: COLOURS.quiet } }), alignment: top },
  subtitle: { font: font({ bold: true, color: { argb: COLOURS.ink } }), alignment: middle },
  heading: {
    font: font({ size: 12, bold: true, color: { argb: COLOURS.ink } }),
    alignment: middle,
    border: line('bottom', 'thin', COLOURS.ink),
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
    border: line('bottom', 'medium', COLOURS.ink),
  },
  headerValue: {
    font: font({ bold: true, color: { argb: COLOURS.ink } }),
    fill: fill(COLOURS.band),
    alignment: { vertical: 'top', horizontal: 'right', wrapText: true },
    border: line('bottom', 'medium', COLOURS.ink),
  },
  headerIndented: {
    font: font({ bold: true, color: { argb: COLOURS.ink } }),
    fill: fill(COLOURS.band),
    alignment: { vertical: 'top', horizontal: 'left', wrapText: true, indent: 1 },
    border: line('bottom', 'medium', COLOURS.ink),
  },
  headerQuiet: {
    font: font({ color: { argb: COLOURS.quiet } }),
    fill: fill(COLOURS.band),
    alignment: { vertical: 'top', horizontal: 'right', wrapText: true },
    border: line('bottom', 'medium', COLOURS.ink),
  },
  cellText: {
    font: font(),
    alignment: { ...top, wrapText: true },
    border: line('bottom', 'hair', COLOURS.rule),
  },
  cellQuiet: {
    font: font({ color: { argb: COLOURS.quiet } }),
    alignment: { ...top, wrapText: true },
    border: line('bottom', 'hair', COLOURS.rule),
  },
  cellLink: {
    font: font({ color: { argb: COLOURS.accent }, underline: true }),
    alignment: { ...top, wrapText: true },
    border: line('bottom', 'hair', COLOURS.rule),
  },
  cellWarning: {
    font: font({ color: { argb: COLOURS.warnInk } }),
    fill: fill(COLOURS.warnBand),
    alignment: { vertical: 'top', horizontal: 'left', wrapText: true, indent: 1 },
    border: line('bottom', 'hair', COLOURS.rule),
  },
  cellCount: {
    font: font(),
    alignment: { vertical: 'top', horizontal: 'right' },
    numFmt: '#,##0',
    border: line('bottom', 'hair', COLOURS.rule),
  },
  cellCode: {
    font: font({ name: 'Consolas', family: 3, size: 9, color: { argb: COLOURS.quiet } }),
    alignment: { ...top, wrapText: true },
    border: line('bottom', 'hair', COLOURS.rule),
  },
} as const satisfies Record<string, CellStyle>;

/**
 * One object per distinct style: the writer knows a style by the identity of its object and is twice as quick when it
 * meets the same one again.
 * @param locale BCP 47; the words are its
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
