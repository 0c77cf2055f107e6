import { german } from './de/german.ts';
import { english, type Words } from './en/english.ts';
import { formatsOf } from './formats.ts';

export type { Words };

/** What a report is written in where nothing else is said. */
export const DEFAULT_LOCALE = 'en-GB';

/** A language is here when it has every message: the compiler says which one it lacks. */
const BY_LANGUAGE = { en: english, de: german } as const;
type Language = keyof typeof BY_LANGUAGE;

const isLanguage = (name: string): name is Language => Object.hasOwn(BY_LANGUAGE, name);

/** The languages that we have words in, ISO 639. */
export const LANGUAGES: readonly string[] = Object.keys(BY_LANGUAGE);

/** The language of a locale: ours, or English, which definitions cannot ask for by accident (`localeSchema`). */
export function languageOf(locale: string): Language {
  const { language } = new Intl.Locale(locale);
  return isLanguage(language) ? language : 'en';
}

/**
 * Our own words in the locale's language, with its numbers, days and lists. The API's labels are none of them.
 * @param locale BCP 47
 */
export const wordsOf = (locale: string = DEFAULT_LOCALE): Words => BY_LANGUAGE[languageOf(locale)](formatsOf(locale));
