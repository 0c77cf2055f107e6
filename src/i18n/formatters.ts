import { intlDateTimeFormat, intlNumberFormat } from '../base/text/intl.ts';
import { startsWithRealDay } from '../base/time.ts';

/** Formats numbers, days and lists in a locale (BCP 47). */
export type LocaleFormatters = ReturnType<typeof localeFormatters>;

/** @param locale BCP 47 */
export function localeFormatters(locale: string) {
  const list = (type: Intl.ListFormatType) => (items: readonly string[]) =>
    new Intl.ListFormat(locale, { type }).format(items);
  const date = (text: string, options: Intl.DateTimeFormatOptions): string => {
    const at = new Date(text);
    return Number.isNaN(at.getTime()) || !startsWithRealDay(text)
      ? text
      : intlDateTimeFormat(locale, options).format(at);
  };
  return {
    /** The ISO 3166 region of the locale, e.g. `GB`; undefined without one. */
    region: new Intl.Locale(locale).region,
    number: (value: number): string => intlNumberFormat(locale).format(value),
    /** A number with all its decimals. */
    exactNumber: (value: number): string => intlNumberFormat(locale, { maximumFractionDigits: 20 }).format(value),
    /** E.g. `A, B and C` */
    all: list('conjunction'),
    /** E.g. `A, B or C` */
    any: list('disjunction'),
    /** A civil date (YYYY-MM-DD) in long form. Other texts stay unchanged. */
    day: (text: string): string => date(text, { timeZone: 'UTC', dateStyle: 'long' }),
    /** An ISO instant in a time zone. Other texts stay unchanged. */
    instant: (text: string, timeZone: string): string =>
      date(text, { timeZone, dateStyle: 'long', timeStyle: 'short' }),
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
