import type { Words } from '../../../../i18n/messages.ts';
import type { Tone } from '../../../figures/change-text.ts';
import type { Quantity, Rounding } from '../../../figures/quantity.ts';
import { figureNumberFormat, LARGE_GROWTH_FORMAT, quantityNumberFormat, withUnit } from './number-formats.ts';
import { borderLine, type CellStyle, COLOURS, fill, font, middle, TONE_STYLES } from './styles.ts';

/** What the style of a data cell depends on. */
export interface DataStyle {
  readonly quantity: Quantity;
  /** The previous value and the change are secondary and shown in grey. */
  readonly secondary: boolean;
  /** The bucket is running. */
  readonly partial: boolean;
  readonly total: boolean;
  /** The column mixes units, so its header cannot name one. */
  readonly unitInCell: boolean;
  /** The rounding of the cell's figure. Default: the quantity's. */
  readonly rounding?: Rounding;
  /** A change of more than 1,000%. */
  readonly largeGrowth?: true;
}

const isText = (quantity: Quantity): boolean => quantity.kind === 'text';

const isTextLike = (quantity: Quantity): boolean => quantity.kind === 'text' || quantity.kind === 'identifier';
const isDate = (quantity: Quantity): boolean => ['bucket', 'day', 'instant'].includes(quantity.kind);

function cellNumberFormat(
  { quantity, rounding, largeGrowth, unitInCell, partial }: DataStyle,
  words: Words,
  locale: string,
): string {
  if (largeGrowth) return LARGE_GROWTH_FORMAT;
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

/**
 * Creates styles, and returns the same object for equal ones: exceljs caches styles by object identity, which makes
 * writing twice as fast.
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

/**
 * Creates a function that gives a style the colour of a judged change, and returns the same object for equal styles.
 */
export function createToneStyles(): (style: CellStyle, tone: Tone) => CellStyle {
  const made = new Map<CellStyle, Map<Tone, CellStyle>>();
  return (style, tone) => {
    if (tone === '') return style;
    const known = made.get(style) ?? new Map<Tone, CellStyle>();
    made.set(style, known);
    const toned = known.get(tone) ?? { ...style, font: { ...style.font, ...TONE_STYLES[tone] } };
    known.set(tone, toned);
    return toned;
  };
}
