import { memoize } from '../../../base/memoize.ts';
import { intlDateTimeFormat } from '../../../base/text/intl.ts';

/** A number that somebody typed in a text. */
export interface TypedNumber {
  /** As typed, with its unit. */
  readonly typed: string;
  /** The numbers that it may stand for, without sign: `1,204` is 1204 or 1.204, depending on the language. */
  readonly readings: readonly TypedReading[];
  /** `plain`: it may have any unit. */
  readonly unit: 'percent' | 'seconds' | 'plain';
  /**
   * It has decimals, a percent sign or thousands separators, so it is not a year, a day, or a small number in passing.
   */
  readonly looksLikeFigure: boolean;
  /** The sentence around it, in lower case. */
  readonly sentence: string;
}

export interface TypedReading {
  /** In percent, in seconds, or without conversion. */
  readonly value: number;
  /** A figure further away than this is not what the author rounded. */
  readonly tolerance: number;
}

const PERCENT = /^(?:%|percent|per cent|prozent|pp|prozentpunkte?n?|percentage)$/;
const SCALES: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  tausend: 1e3,
  tsd: 1e3,
  mio: 1e6,
  million: 1e6,
  millions: 1e6,
  millionen: 1e6,
  bn: 1e9,
  billion: 1e9,
  mrd: 1e9,
  milliarden: 1e9,
};
const DURATIONS: readonly (readonly [RegExp, number])[] = [
  [/^(?:s|sec|second|seconds|sekunde|sekunden)$/, 1],
  [/^(?:min|minute|minutes|minuten)$/, 60],
  [/^(?:h|hour|hours|stunde|stunden)$/, 3600],
  [/^(?:d|day|days|tag|tage|tagen)$/, 86_400],
];

/** A number with what is attached to it. Other words that begin with a digit are dates, times or names. */
const NUMBER = /^[+\-−±]?(?<digits>\d[\d.,’]*)(?<unit>%|\p{L}*)$/u;
const QUOTES_BEFORE = /^[("'“„«[~≈<>=]+/u;
const MARKS_BEHIND = /[)"'”“»\]!?;:,.]+$/u;
/** `3.11.` and `3.`, as in German dates. */
const GERMAN_DAY = /^\d{1,2}\.(?:\d{1,2}\.)?$/;
const YEAR = /^(?:19|20)\d\d$/;

/** Finds the numbers in a text, in order. Dates, times, years, ordinals and names with digits do not count. */
export function typedNumbers(text: string, locale: string): readonly TypedNumber[] {
  const months = monthNames(locale);
  const seen = asRead(text);
  // No-break spaces, thin spaces and apostrophes group digits. Ordinary spaces do not.
  const grouped = seen.replace(/(?<=\d)['\u00a0\u2009\u202f](?=\d{3}(?!\d))/g, '’');
  return grouped.split(/(?<=[.!?])\s+(?=\p{Lu})|\n/u).flatMap((sentence) => {
    const words = sentence.split(/\s+/).filter((word) => word !== '');
    const plain = words.map((word) => word.replace(QUOTES_BEFORE, '').replace(MARKS_BEHIND, ''));
    return words.flatMap((word, index): TypedNumber[] => {
      const behind = plain[index + 1]?.toLowerCase() ?? '';
      const isMonth = (name: string | undefined) => months.has(name?.toLowerCase() ?? '');
      if (isMonth(plain[index + 1]) || isMonth(plain[index - 1]) || GERMAN_DAY.test(word)) return [];
      const number = readNumber(plain[index] ?? '', behind);
      return number === undefined ? [] : [{ ...number, sentence: sentence.toLowerCase() }];
    });
  });
}

/** Invisible characters, including joiners: between digits they do not join anything. */
const SHAPELESS = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu;
/** Wide characters without a shape. Hangul fillers are in `SHAPELESS` as well. */
const BLANKS = /[\u115f\u1160\u2800\u3164\uffa0]/g;
const FULL_WIDTH_OFFSET = 0xfee0;

/** The numbers in a text as readers see them: without invisible characters, in ASCII digits and marks. */
const asRead = (text: string): string =>
  text
    .replace(BLANKS, ' ')
    .replace(SHAPELESS, '')
    .replace(/[\uff01-\uff5e]/g, (character) => String.fromCharCode(character.charCodeAt(0) - FULL_WIDTH_OFFSET))
    .replace(/(?!\d)\p{Nd}/gu, asciiDigit);

/**
 * Converts a digit of any script. The digits of a script are consecutive from zero, and a set of digits begins where
 * another ends.
 */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let zero = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return String((code - zero) % 10);
}

function readNumber(word: string, behind: string): Omit<TypedNumber, 'sentence'> | undefined {
  const { digits, unit: attached = '' } = NUMBER.exec(word)?.groups ?? {};
  if (digits === undefined || (attached === '' && YEAR.test(word))) return undefined;
  const unitWord = (attached === '' ? behind : attached).toLowerCase();
  const scale = Object.hasOwn(SCALES, unitWord) ? SCALES[unitWord] : undefined;
  const duration = DURATIONS.find(([pattern]) => pattern.test(unitWord))?.[1];
  const percent = PERCENT.test(unitWord);
  const known = scale !== undefined || duration !== undefined || percent;
  if (attached !== '' && !known) return undefined;
  const factor = scale ?? duration ?? 1;
  const readings = parseReadings(digits, percent).map(({ value, tolerance }) => ({
    value: value * factor,
    tolerance: tolerance * factor,
  }));
  if (readings.length === 0) return undefined;
  return {
    typed: known && attached === '' ? `${word} ${behind}` : word,
    readings,
    unit: percent ? 'percent' : duration === undefined ? 'plain' : 'seconds',
    looksLikeFigure: percent || scale !== undefined || /[.,’]/.test(digits) || digits.length > 3,
  };
}

/** Reads digits with marks, as people write them in English, German or Swiss texts. */
function parseReadings(digits: string, percent: boolean): readonly TypedReading[] {
  const texts = new Set<string>();
  if (/^(?:\d+|\d{1,3}(?:[,’]\d{3})+)(?:\.\d+)?$/.test(digits)) texts.add(digits.replace(/[,’]/g, ''));
  if (/^(?:\d+|\d{1,3}(?:[.’]\d{3})+)(?:,\d+)?$/.test(digits)) texts.add(digits.replace(/[.’]/g, '').replace(',', '.'));
  return [...texts].map((text) => ({ value: Number(text), tolerance: computeTolerance(text, percent) }));
}

/**
 * Zeros at the end may come from rounding, but not in the first two digits: 1,200 may be 1,150 to 1,250, but 20 is 20.
 */
const KEPT_DIGITS = 2;

function computeTolerance(text: string, percent: boolean): number {
  const [whole = '', decimals] = text.split('.');
  if (decimals !== undefined) return 0.5 * 10 ** -decimals.length;
  if (percent) return 0.5;
  const zeros = /0*$/.exec(whole)?.[0].length ?? 0;
  return 0.5 * 10 ** Math.min(zeros, Math.max(0, whole.length - KEPT_DIGITS));
}

/** The names of the months, long and short, in lower case, in the report's language and in English. */
const monthNames = memoize((locale: string): ReadonlySet<string> => {
  const names = new Set<string>();
  for (const language of [locale, 'en']) {
    for (const month of ['long', 'short'] as const) {
      const format = intlDateTimeFormat(language, { month, timeZone: 'UTC' });
      for (let index = 0; index < 12; index += 1) {
        names.add(
          format
            .format(Date.UTC(2026, index, 1))
            .toLowerCase()
            .replace('.', ''),
        );
      }
    }
  }
  return names;
}, 20);
