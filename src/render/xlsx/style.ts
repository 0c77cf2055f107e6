import type { Alignment, Borders, Fill, Font, Style } from 'exceljs';
import type { Words } from '../../words/words.ts';
import type { Quantity } from '../format.ts';

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

const decimal = (decimals: number): string => (decimals === 0 ? '#,##0' : `#,##0.${'0'.repeat(decimals)}`);

/** Excel's number format of a quantity. Directions have a sign and an arrow, so that nobody depends on a colour. */
export function numberFormat(quantity: Quantity): string {
  switch (quantity.kind) {
    case 'count':
      return '#,##0';
    case 'ratio':
      return '0.0%';
    case 'duration':
      return { seconds: '0.0#####', clock: '[h]:mm:ss', days: '#,##0.0' }[quantity.scale];
    case 'points':
      return '"▲ "+0.0;"▼ "-0.0;"= "0.0';
    case 'relative':
      return '"▲ "+0.0%;"▼ "-0.0%;"= "0.0%';
    case 'difference':
      return `"▲ "+${decimal(quantity.decimals)};"▼ "-${decimal(quantity.decimals)};"= "0`;
    case 'amount':
      return decimal(quantity.decimals);
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

/** Where a header cannot say the unit of a change, the cell does. Other figures have theirs in the metric's name. */
const formatWithUnit = (quantity: Quantity, { table }: Words): string =>
  quantity.kind === 'points'
    ? numberFormat(quantity)
        .split(';')
        .map((part) => `${part}" ${table.points}"`)
        .join(';')
    : numberFormat(quantity);

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
}

const isText = (quantity: Quantity): boolean => quantity.kind === 'text';
/** A number that names something reads like a name. */
const isName = (quantity: Quantity): boolean => quantity.kind === 'text' || quantity.kind === 'identifier';
const isDate = (quantity: Quantity): boolean => ['bucket', 'day', 'instant'].includes(quantity.kind);

function dataStyle(style: DataStyle, undefinedValue: boolean, words: Words): CellStyle {
  const { quantity, partial, total } = style;
  const colour = undefinedValue || style.quiet ? COLOURS.quiet : COLOURS.text;
  const suffix = partial && quantity.kind === 'bucket' ? `" · ${words.table.stillRunning}"` : '';
  return {
    font: font({ italic: partial, bold: total, color: { argb: colour } }),
    alignment: {
      ...middle,
      horizontal: isName(quantity) || isDate(quantity) ? 'left' : 'right',
      wrapText: isText(quantity),
    },
    numFmt: undefinedValue
      ? '@'
      : `${style.unitInCell ? formatWithUnit(quantity, words) : numberFormat(quantity)}${suffix}`,
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
 */
export function createDataStyles(words: Words): (style: DataStyle, undefinedValue: boolean) => CellStyle {
  const made = new Map<string, CellStyle>();
  return (style, undefinedValue) => {
    const key = `${JSON.stringify(style)}${undefinedValue}`;
    const known = made.get(key) ?? dataStyle(style, undefinedValue, words);
    made.set(key, known);
    return known;
  };
}
