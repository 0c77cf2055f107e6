import { withoutInvisible } from './bidi.ts';
import { DocketError } from './error.ts';
import { fillTemplate, type TemplateVariables } from './template.ts';

const MAX_CHARACTERS = 120;
/** File systems count bytes (255), and a temporary name and a second ending have to fit too. */
const MAX_NAME_BYTES = 200;
/** Object stores take keys of 1,024 bytes; a bucket's or a server's own prefix may come in front. */
const MAX_PATH_BYTES = 900;

/** Names that Windows keeps for devices, with any ending. */
const RESERVED = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i;

/** Control characters, halves of characters, and the invisible ones that turn the reading direction of an ending around. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]|[\ud800-\udfff]/gu;

/** A text of data without what no name may hold: separators, what Windows forbids, what nobody sees. */
const plainText = (text: string): string =>
  withoutInvisible(text)
    .normalize('NFC')
    .replace(INVISIBLE, '')
    .replace(/[/\\:*?"<>|]+/g, '-')
    .replace(/\s+/g, ' ');

const shortened = (stem: string, extension: string): string => {
  const room = MAX_CHARACTERS - extension.length;
  const bytes = MAX_NAME_BYTES - Buffer.byteLength(extension);
  let kept = '';
  let length = 0;
  for (const { segment } of new Intl.Segmenter().segment(stem)) {
    if (length + [...segment].length > room || Buffer.byteLength(kept + segment) > bytes) break;
    length += [...segment].length;
    kept += segment;
  }
  return kept;
};

/** A stem of any text → a file name that Windows, macOS and Linux, mail clients and archives all take. */
export function safeName(stem: string, extension: string): string {
  const plain = plainText(stem).replace(/^[. ]+/, '');
  const short = shortened(plain, extension).replace(/[. ]+$/, '');
  const stemOrWord = short === '' ? 'report' : short;
  return `${RESERVED.test(stemOrWord) ? `_${stemOrWord}` : stemOrWord}${extension}`;
}

/** Values as they may stand inside a path: no value adds a folder to it, leaves one, or hides in it. */
function safeValues(variables: TemplateVariables): TemplateVariables {
  const safe = (value: unknown): unknown => {
    if (typeof value === 'string') return plainText(value);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, safe(inner)]));
  };
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, safe(value)]));
}

export const PATH_RULES =
  'folders and names between "/", none of them empty, "..", ".", reserved or too long, without "\\" and control characters';

/** What no system takes, or takes for something else, in a path; undefined when there is nothing of it. */
export function pathFault(path: string): string | undefined {
  if (path.trim() === '') return 'nothing';
  if (path.match(INVISIBLE) !== null) return 'a character that cannot be seen';
  if (path.includes('\\')) return 'a "\\"';
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `more than ${MAX_PATH_BYTES} bytes`;
  const steps = path.replace(/^\//, '').replace(/\/$/, '').split('/');
  for (const step of path === '/' ? [] : steps) {
    if (step.trim() === '') return 'a folder without a name';
    if (step === '..' || step === '.') return `"${step}"`;
    if (/[. ]$/.test(step)) return 'a name that ends in a dot or a space';
    if (RESERVED.test(step)) return `the reserved name "${step}"`;
    if (Buffer.byteLength(step) > MAX_NAME_BYTES) return `a name of more than ${MAX_NAME_BYTES} bytes`;
  }
  return undefined;
}

/**
 * Refuses a path that `pathFault` finds fault with: what came from data could otherwise climb out of its folder.
 * Throws `deliver.target_refused`.
 * @param where the field of the definition, e.g. `deliveries[].s3.key`
 */
export function requirePath(path: string, where: string): string {
  const fault = pathFault(path);
  if (fault === undefined) return path;
  throw new DocketError('deliver.target_refused', `The path of ${where} cannot be used: it has ${fault}.`, {
    expected: PATH_RULES,
    got: JSON.stringify(path),
    next: `Correct ${where} in the report definition.`,
  });
}

/**
 * A folder or key from its template, the same way for every target. Values are made safe, what they make together is
 * refused when it is no path. Throws `deliver.target_refused`, `template.invalid`.
 */
export const fillPath = (template: string, variables: TemplateVariables, where: string): string =>
  requirePath(fillTemplate(template, safeValues(variables), where), where);
