import { z } from 'zod';
import { LANGUAGES } from '../words/words.ts';

const EXAMPLES = ['en-GB', 'en-US', 'de-DE', 'de-AT', 'de-CH'] as const;

/** A tag as BCP 47 writes it, of a language that we have words in: figures in one language and words in another mislead. */
function isLocale(tag: string): boolean {
  try {
    const { baseName, language } = new Intl.Locale(tag);
    return baseName === tag && LANGUAGES.includes(language);
  } catch {
    return false;
  }
}

/** How readers write numbers and dates, and the language of our own words. */
export const localeSchema = z
  .string()
  .refine(isLocale, {
    error: `a locale of a language that reports are written in (${LANGUAGES.join(', ')}), such as ${EXAMPLES.join(', ')}`,
    params: { near: EXAMPLES },
  })
  .describe(
    'Numbers, dates and words of files and e-mails: en-GB (default), de-CH, …; labels stay as the API has them.',
  );
