import { memoize } from '../base/memoize.ts';
import { chart as deChart } from './de/chart.ts';
import { mail as deMail } from './de/mail.ts';
import { notes as deNotes } from './de/notes.ts';
import { notice as deNotice } from './de/notice.ts';
import { pack as dePack, pdf as dePdf } from './de/pack.ts';
import { review as deReview } from './de/review.ts';
import { status as deStatus } from './de/status.ts';
import { table as deTable } from './de/table.ts';
import { workbook as deWorkbook } from './de/workbook.ts';
import { chart as enChart } from './en/chart.ts';
import { mail as enMail } from './en/mail.ts';
import { notes as enNotes } from './en/notes.ts';
import { notice as enNotice } from './en/notice.ts';
import { pack as enPack, pdf as enPdf } from './en/pack.ts';
import { review as enReview } from './en/review.ts';
import { status as enStatus } from './en/status.ts';
import { table as enTable } from './en/table.ts';
import { workbook as enWorkbook } from './en/workbook.ts';
import { type LocaleFormatters, localeFormatters } from './formatters.ts';

export const DEFAULT_LOCALE = 'en-GB';

/** Every message in English. Other languages must have the same type. */
const englishMessages = (to: LocaleFormatters) => ({
  notes: enNotes(to),
  table: enTable(to),
  chart: enChart(to),
  mail: enMail(to),
  pdf: enPdf(to),
  workbook: enWorkbook(to),
  status: enStatus(to),
  pack: enPack(to),
  review: enReview(to),
  notice: enNotice(to),
});
export type Words = ReturnType<typeof englishMessages>;

/** Every message in German, formal (Sie), without the letter ß, which Switzerland does not use. */
const germanMessages = (to: LocaleFormatters): Words => ({
  notes: deNotes(to),
  table: deTable(to),
  chart: deChart(to),
  mail: deMail(to),
  pdf: dePdf(to),
  workbook: deWorkbook(to),
  status: deStatus(to),
  pack: dePack(to),
  review: deReview(to),
  notice: deNotice(to),
});

const BY_LANGUAGE = { en: englishMessages, de: germanMessages } as const;
type Language = keyof typeof BY_LANGUAGE;

/** The supported languages, ISO 639. */
export const LANGUAGES: readonly string[] = Object.keys(BY_LANGUAGE);

/** The supported language of a locale; English for others, which `localeSchema` rejects in definitions. */
export function selectLanguage(locale: string): Language {
  const { language } = new Intl.Locale(locale);
  return Object.hasOwn(BY_LANGUAGE, language) ? (language as Language) : 'en';
}

/** More than the number of locales in use at a time. */
const MAX_CACHED_LOCALES = 50;

const cachedMessages = memoize(
  (locale: string): Words => BY_LANGUAGE[selectLanguage(locale)](localeFormatters(locale)),
  MAX_CACHED_LOCALES,
);

/**
 * Docket's messages in the language of a locale. The API's labels are not translated. Cached, because a scorecard needs
 * them for every figure.
 * @param locale BCP 47
 */
export const messagesFor = (locale: string = DEFAULT_LOCALE): Words => cachedMessages(locale);
