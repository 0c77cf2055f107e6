import { z } from 'zod';
import { memoize } from '../../../base/memoize.ts';
import { stripInvisible } from '../../../base/text/bidi.ts';
import { LANGUAGES } from '../../../i18n/messages.ts';

/**
 * The form of ids of organizations, reports and sections. They must be valid names of folders, files and sheets on
 * every system.
 */
export const ID_PATTERN = /^[a-z0-9][a-z0-9_-]{0,62}$/;
export const ID_DESCRIPTION = 'lower-case letters, digits, "-" and "_" (at most 63, starting with a letter or digit)';

export const idSchema = z.string().regex(ID_PATTERN, ID_DESCRIPTION);

const CONTROL_CHARACTER = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** One line of text. A line break in a subject or a file name could make a value look like something else. */
export const lineSchema = (max: number) => singleLine(z.string(), max);

/** A line that readers of reports see, without direction controls and invisible characters. */
export const printedLineSchema = (max: number) => singleLine(z.string().overwrite(stripInvisible), max);

const singleLine = (text: z.ZodString, max: number) =>
  text
    .min(1, 'a text that is not empty')
    .max(max, `at most ${max} characters`)
    .refine((text) => !CONTROL_CHARACTER.test(text), 'a text on one line, without control characters');

/**
 * A URL without user and password, which would be secrets in the file.
 * @param schemes e.g. `https:`
 */
export const urlSchema = (schemes: readonly string[]) =>
  lineSchema(2000).refine(
    (text) => {
      if (!URL.canParse(text)) return false;
      const { protocol, username, password, hash } = new URL(text);
      return schemes.includes(protocol) && username === '' && password === '' && hash === '';
    },
    `a URL, ${schemes.map((scheme) => `${scheme}//…`).join(' or ')}, without user and password`,
  );

/** A text for readers of reports that may have several lines; cleaned like `printedLineSchema`. */
export const printedTextSchema = (max: number) =>
  z.string().overwrite(stripInvisible).min(1, 'a text that is not empty').max(max, `at most ${max} characters`);

/**
 * It begins with a letter: `+01:00` is an offset, which has no summer time, and which the API refuses as a time zone.
 */
const ZONE_NAME = /^[A-Z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/;

/**
 * Whether this runtime knows the IANA zone with exactly these letters. They matter because the same text is sent to the
 * API.
 */
export const isZone = memoize((name: string): boolean => {
  if (!ZONE_NAME.test(name)) return false;
  try {
    const known = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
    // Intl accepts any case. An alias (Asia/Kolkata) may resolve to another name. Only the same name in other letters
    // is wrong.
    return known === name || known.toLowerCase() !== name.toLowerCase();
  } catch {
    return false;
  }
}, 1_000);

/** The name of an IANA zone, for periods and schedules. */
export const zoneSchema = z
  .string()
  .refine(isZone, { error: 'an IANA time zone such as Europe/Zurich or UTC', params: { near: 'zone' } });

const EXAMPLE_LOCALES = ['en-GB', 'en-US', 'de-DE', 'de-AT', 'de-CH'] as const;

/**
 * Whether a tag is in BCP 47's form, and in a language that Docket has texts for: figures in one language and words in
 * another would mislead.
 */
function isLocale(tag: string): boolean {
  try {
    const { baseName, language } = new Intl.Locale(tag);
    return baseName === tag && LANGUAGES.includes(language);
  } catch {
    return false;
  }
}

/** How readers write numbers and dates, and the language of Docket's own texts. */
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

/** Parses `10MB`, `500KB` or a number of bytes to bytes; undefined for anything else. */
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

/** The bytes of a size that the schema accepted. */
export const toBytes = (size: z.infer<typeof sizeSchema>): number =>
  typeof size === 'number' ? size : (parseSize(size) ?? MAX_SIZE_BYTES);
