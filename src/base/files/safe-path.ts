import { DocketError } from '../error.ts';
import { stripInvisible } from '../text/bidi.ts';
import { BREAKING_SPACES, wholeWords } from '../text/cut-text.ts';
import { renderTemplate, type TemplateVariables } from '../text/template.ts';

const MAX_CHARACTERS = 120;
/** File systems allow 255 bytes. A temporary name and a second extension need some of them. */
const MAX_NAME_BYTES = 200;
/** Object stores allow keys of 1,024 bytes. A prefix of the bucket or server may be added. */
const MAX_PATH_BYTES = 900;

/** Windows device names, with any extension. */
const RESERVED_NAMES = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i;

/** Control characters, lone surrogates, and direction controls, which can disguise an extension. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: matched on purpose
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]|[\ud800-\udfff]/gu;

/** Removes what a name must not contain, but keeps the no-break spaces that a figure may contain. */
const sanitizeUncut = (text: string): string =>
  stripInvisible(text)
    .normalize('NFC')
    .replace(INVISIBLE, '')
    .replace(/[/\\:*?"<>|]+/g, '-')
    .replace(BREAKING_SPACES, ' ');

const plainSpaces = (text: string): string => text.replace(/\s+/g, ' ');

/** Removes what a name must not contain: separators, characters that Windows forbids, invisible characters. */
const sanitizeSegment = (text: string): string => plainSpaces(sanitizeUncut(text));

const truncateStem = (stem: string, extension: string): string => {
  const maxCharacters = MAX_CHARACTERS - extension.length;
  const maxBytes = MAX_NAME_BYTES - Buffer.byteLength(extension);
  let result = '';
  let length = 0;
  for (const { segment } of new Intl.Segmenter().segment(stem)) {
    if (length + [...segment].length > maxCharacters || Buffer.byteLength(result + segment) > maxBytes) break;
    length += [...segment].length;
    result += segment;
  }
  // If a name begins with a figure that is too long, uses the text after it.
  return (
    wholeWords(stem, result) ||
    (/^[^ ]+ +[^ ]/u.test(stem) ? truncateStem(stem.replace(/^[^ ]+ +/u, ''), extension) : '')
  );
};

/** Makes a file name from any text. It is valid on Windows, macOS and Linux, in mail clients and in archives. */
export function safeFileName(stem: string, extension: string): string {
  const plain = sanitizeUncut(stem).replace(/^[.\s]+/, '');
  const short = plainSpaces(truncateStem(plain, extension)).replace(/[. ]+$/, '');
  const name = short === '' ? 'report' : short;
  return `${RESERVED_NAMES.test(name) ? `_${name}` : name}${extension}`;
}

/** Sanitizes values for a path, so that they cannot add or leave a folder, or contain invisible characters. */
function sanitizeVariables(variables: TemplateVariables): TemplateVariables {
  const safe = (value: unknown): unknown => {
    if (typeof value === 'string') return sanitizeSegment(value);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, safe(inner)]));
  };
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, safe(value)]));
}

export const PATH_RULES =
  'folders and names between "/", none of them empty, "..", ".", reserved or too long, without "\\" and control characters';

/** The part of a path that is invalid or ambiguous on some system; undefined for a valid path. */
export function findPathError(path: string): string | undefined {
  if (path.trim() === '') return 'nothing';
  if (path.match(INVISIBLE) !== null) return 'a character that cannot be seen';
  if (path.includes('\\')) return 'a "\\"';
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `more than ${MAX_PATH_BYTES} bytes`;
  const steps = path.replace(/^\//, '').replace(/\/$/, '').split('/');
  for (const step of path === '/' ? [] : steps) {
    if (step.trim() === '') return 'a folder without a name';
    if (step === '..' || step === '.') return `"${step}"`;
    if (/[. ]$/.test(step)) return 'a name that ends in a dot or a space';
    if (RESERVED_NAMES.test(step)) return `the reserved name "${step}"`;
    if (Buffer.byteLength(step) > MAX_NAME_BYTES) return `a name of more than ${MAX_NAME_BYTES} bytes`;
  }
  return undefined;
}

/**
 * Returns a valid path unchanged. Throws `deliver.target_refused` for an invalid one, which could leave its folder.
 * @param where the definition's field, e.g. `deliveries[].s3.key`
 */
function assertSafePath(path: string, where: string): string {
  const error = findPathError(path);
  if (error === undefined) return path;
  throw new DocketError('deliver.target_refused', `The path of ${where} is invalid: it contains ${error}.`, {
    expected: PATH_RULES,
    got: JSON.stringify(path),
    next: `Correct ${where} in the report definition.`,
  });
}

/**
 * Renders the template of a folder or key. Sanitizes the values, then validates the result. Throws
 * `deliver.target_refused`, `template.invalid`.
 */
export const renderPath = (template: string, variables: TemplateVariables, where: string): string =>
  assertSafePath(renderTemplate(template, sanitizeVariables(variables), where), where);
