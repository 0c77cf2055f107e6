import { intlDateTimeFormat, intlNumberFormat } from '../base/text/intl.ts';
import { startsWithRealDay } from '../base/time.ts';

/** Formats numbers, days and lists in a locale (BCP 47). */
export interface LocaleFormatters {
  /** The ISO 3166 region of the locale, e.g. `GB`; undefined without one. */
  readonly region: string | undefined;
  readonly number: (value: number) => string;
  /** A number with all its decimals. */
  readonly exactNumber: (value: number) => string;
  /** E.g. `A, B and C` */
  readonly all: (items: readonly string[]) => string;
  /** E.g. `A, B or C` */
  readonly any: (items: readonly string[]) => string;
  /** A civil date (YYYY-MM-DD) in long form. Other texts stay unchanged. */
  readonly day: (date: string) => string;
  /** An ISO instant in a time zone. Other texts stay unchanged. */
  readonly instant: (at: string, timezone: string) => string;
}

/** @param locale BCP 47 */
export function localeFormatters(locale: string): LocaleFormatters {
  const list = (type: Intl.ListFormatType) => (items: readonly string[]) =>
    new Intl.ListFormat(locale, { type }).format(items);
  const date = (text: string, options: Intl.DateTimeFormatOptions): string => {
    const at = new Date(text);
    return Number.isNaN(at.getTime()) || !startsWithRealDay(text)
      ? text
      : intlDateTimeFormat(locale, options).format(at);
  };
  return {
    region: new Intl.Locale(locale).region,
    number: (value) => intlNumberFormat(locale).format(value),
    exactNumber: (value) => intlNumberFormat(locale, { maximumFractionDigits: 20 }).format(value),
    all: list('conjunction'),
    any: list('disjunction'),
    day: (text) => date(text, { timeZone: 'UTC', dateStyle: 'long' }),
    instant: (text, timeZone) => date(text, { timeZone, dateStyle: 'long', timeStyle: 'short' }),
  };
}

/** E.g. `1 row`, `12 rows` */
export const englishCounter =
  ({ number }: Pick<LocaleFormatters, 'number'>) =>
  (count: number, one: string, many = `${one}s`): string =>
    `${number(count)} ${count === 1 ? one : many}`;

/** Quotes a text: „…“, in Switzerland and Liechtenstein «…». */
export const germanQuotes =
  ({ region }: Pick<LocaleFormatters, 'region'>) =>
  (text: string): string =>
    region === 'CH' || region === 'LI' ? `«${text}»` : `„${text}“`;
