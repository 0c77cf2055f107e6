import { dateFormat, numberFormat } from '../base/formats.ts';

/** What a message needs to write numbers, days and lists as its readers do. BCP 47 decides, not the language alone. */
export interface Formats {
  /** ISO 3166 region of the locale, `GB`; undefined where it names none. */
  readonly region: string | undefined;
  readonly number: (value: number) => string;
  /** With all of its decimals. */
  readonly exactNumber: (value: number) => string;
  /** `A, B and C` */
  readonly all: (items: readonly string[]) => string;
  /** `A, B or C` */
  readonly any: (items: readonly string[]) => string;
  /** A civil date (YYYY-MM-DD) by the locale's habit; what is none stays as it is. */
  readonly day: (date: string) => string;
  /** An ISO instant in a zone by the locale's habit; what is none stays as it is. */
  readonly instant: (at: string, timezone: string) => string;
}

/** @param locale BCP 47 */
export function formatsOf(locale: string): Formats {
  const list = (type: Intl.ListFormatType) => (items: readonly string[]) =>
    new Intl.ListFormat(locale, { type }).format(items);
  const date = (text: string, options: Intl.DateTimeFormatOptions): string => {
    const at = new Date(text);
    return Number.isNaN(at.getTime()) ? text : dateFormat(locale, options).format(at);
  };
  return {
    region: new Intl.Locale(locale).region,
    number: (value) => numberFormat(locale).format(value),
    exactNumber: (value) => numberFormat(locale, { maximumFractionDigits: 20 }).format(value),
    all: list('conjunction'),
    any: list('disjunction'),
    day: (text) => date(text, { timeZone: 'UTC', dateStyle: 'long' }),
    instant: (text, timeZone) => date(text, { timeZone, dateStyle: 'long', timeStyle: 'short' }),
  };
}
