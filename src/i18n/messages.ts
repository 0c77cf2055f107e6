import { germanMessages } from './de/messages.ts';
import { englishMessages, type Messages } from './en/messages.ts';
import { localeFormatters } from './formatters.ts';

export type { Messages as Words };

export const DEFAULT_LOCALE = 'en-GB';

/** The compiler checks that every language has every message. */
const BY_LANGUAGE = { en: englishMessages, de: germanMessages } as const;
type Language = keyof typeof BY_LANGUAGE;

const isLanguage = (name: string): name is Language => Object.hasOwn(BY_LANGUAGE, name);

/** The supported languages, ISO 639. */
export const LANGUAGES: readonly string[] = Object.keys(BY_LANGUAGE);

/** The supported language of a locale; English for another one, which `localeSchema` rejects in definitions. */
export function languageOf(locale: string): Language {
  const { language } = new Intl.Locale(locale);
  return isLanguage(language) ? language : 'en';
}

/**
 * Docket's messages in the language of a locale. Labels of the API are not translated.
 * @param locale BCP 47
 */
export const messagesFor = (locale: string = DEFAULT_LOCALE): Messages =>
  BY_LANGUAGE[languageOf(locale)](localeFormatters(locale));
