import { z } from 'zod';
import { memoize } from '../../../base/memoize.ts';
import { stripInvisible } from '../../../base/text/bidi.ts';
import { LANGUAGES } from '../../../i18n/messages.ts';

/** Ids of organizations, reports and sections: they are names of folders, files and sheets on every system. */
export const ID_PATTERN = /^[a-z0-9][a-z0-9_-]{0,62}$/;
export const ID_DESCRIPTION = 'lower-case letters, digits, "-" and "_" (at most 63, starting with a letter or digit)';

export const idSchema = z.string().regex(ID_PATTERN, ID_DESCRIPTION);

const CONTROL_CHARACTER = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** One line of text. A line break in a subject or a file name would let a value pass for something else. */
export const lineSchema = (max: number) => singleLine(z.string(), max);

/** A line that readers of reports see: without direction controls and invisible characters. */
export const printedLineSchema = (max: number) => singleLine(z.string().overwrite(stripInvisible), max);

const singleLine = (text: z.ZodString, max: number) =>
  text
    .min(1, 'a text that is not empty')
    .max(max, `at most ${max} characters`)
    .refine((text) => !CONTROL_CHARACTER.test(text), 'a text on one line, without control characters');

/** A URL without user and password, which would be secrets in the file. @param schemes e.g. `https:` */
export const urlSchema = (schemes: readonly string[]) =>
  lineSchema(2000).refine(
    (text) => {
      if (!URL.canParse(text)) return false;
      const { protocol, username, password, hash } = new URL(text);
      return schemes.includes(protocol) && username === '' && password === '' && hash === '';
    },
    `a URL, ${schemes.map((scheme) => `${scheme}//…`).join(' or ')}, without user and password`,
  );

/** A text that may have several lines; readers of reports see it, as `printedLineSchema`. */
export const printedTextSchema = (max: number) =>
  z.string().overwrite(stripInvisible).min(1, 'a text that is not empty').max(max, `at most ${max} characters`);

/** Letters first: `+01:00` is an offset, which knows no summer time and which the API refuses as a zone. */
const ZONE_NAME = /^[A-Z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/;

/** Whether this runtime knows the IANA zone, written as IANA writes it: the API is asked with the same letters. */
export const isZone = memoize((name: string): boolean => {
  if (!ZONE_NAME.test(name)) return false;
  try {
    const known = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
    // Intl reads any case; an alias (Asia/Kolkata) may resolve to another name, and only then the letters differ.
    return known === name || known.toLowerCase() !== name.toLowerCase();
  } catch {
    return false;
  }
}, 1_000);

/** An IANA zone name, for periods and schedules. */
export const zoneSchema = z
  .string()
  .refine(isZone, { error: 'an IANA time zone such as Europe/Zurich or UTC', params: { near: 'zone' } });

const EXAMPLE_LOCALES = ['en-GB', 'en-US', 'de-DE', 'de-AT', 'de-CH'] as const;

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
    error: `a locale of a language that reports are written in (${LANGUAGES.join(', ')}), such as ${EXAMPLE_LOCALES.join(', ')}`,
    params: { near: EXAMPLE_LOCALES },
  })
  .describe(
    'Numbers, dates and words of files and e-mails: en-GB (default), de-CH, …; labels stay as the API has them.',
  );

const SIZE_PATTERN = /^(\d{1,9})\s*(B|KB|MB)?$/i;
const SIZE_UNITS: Readonly<Record<string, number>> = { B: 1, KB: 1024, MB: 1024 * 1024 };
const SIZE_DESCRIPTION = 'a size up to 100 MB, e.g. 10MB or 500KB';
const MAX_SIZE_BYTES = 100 * 1024 * 1024;

/** `10MB`, `500KB` or bytes → bytes; undefined for anything else. */
export function parseSize(text: string): number | undefined {
  const [, digits, unit = 'B'] = SIZE_PATTERN.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  const bytes = Number(digits) * (SIZE_UNITS[unit.toUpperCase()] ?? 1);
  return bytes > 0 && bytes <= MAX_SIZE_BYTES ? bytes : undefined;
}

export const sizeSchema = z
  .union(
    [z.int().min(1).max(MAX_SIZE_BYTES), z.string().refine((text) => parseSize(text) !== undefined, SIZE_DESCRIPTION)],
    { error: SIZE_DESCRIPTION },
  )
  .describe('Bytes, or with a unit: 500KB, 10MB.');

/** The bytes of a size that the schema let pass. */
export const bytesOf = (size: z.infer<typeof sizeSchema>): number =>
  typeof size === 'number' ? size : (parseSize(size) ?? MAX_SIZE_BYTES);
