import { DocketError } from '../base/error.ts';
import { fillTemplate } from '../base/template.ts';
import type { Period } from '../define/period.ts';

/** What a template of a file name, a folder or a subject may speak of. */
export interface NameVariables {
  readonly period: Period;
  readonly org: string;
  readonly report: string;
  readonly title: string;
  /** Only in the name of a CSV file, which holds one section. */
  readonly section?: { readonly id: string; readonly title: string };
}

const MAX_CHARACTERS = 120;
/** File systems count bytes (255), and a temporary name and a second ending have to fit too. */
const MAX_BYTES = 200;

const RESERVED = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i;

const shortened = (stem: string, extension: string): string => {
  const room = MAX_CHARACTERS - extension.length;
  const bytes = MAX_BYTES - Buffer.byteLength(extension);
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
  const plain = stem
    .normalize('NFC')
    // Separators, what Windows forbids, and the invisible characters that turn the reading direction of an ending around.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    .replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]/g, '')
    .replace(/[\ud800-\udfff]/gu, '')
    .replace(/[/\\:*?"<>|]+/g, '-')
    .replace(/\s+/g, ' ')
    .replace(/^[. ]+/, '');
  const short = shortened(plain, extension).replace(/[. ]+$/, '');
  const stemOrWord = short === '' ? 'report' : short;
  return `${RESERVED.test(stemOrWord) ? `_${stemOrWord}` : stemOrWord}${extension}`;
}

/**
 * The file name of an output: its template rendered, made safe, with the format's ending.
 * At most 120 characters. Throws `template.invalid`.
 */
export function renderName(template: string, variables: NameVariables, extension: `.${string}`): string {
  const text = fillTemplate(template, { ...variables }, `the name of a ${extension} output`).trim();
  const stem = text.toLowerCase().endsWith(extension) ? text.slice(0, -extension.length) : text;
  return safeName(stem, extension);
}

/** Refuses two files of one name, as a file system that ignores case would. Throws `render.failed`. */
export function refuseCollisions(names: readonly { readonly name: string; readonly of: string }[]): void {
  const taken = new Map<string, string>();
  for (const { name, of } of names) {
    const key = name.normalize('NFC').toLowerCase();
    const other = taken.get(key);
    if (other !== undefined) {
      throw new DocketError('render.failed', `Two files of the report would be named "${name}": ${other} and ${of}.`, {
        expected: 'a name of its own for every file',
        got: `"${name}" twice`,
        next: 'Make the names under "outputs" differ; a CSV name needs {{ section.id }} when the report has several sections.',
      });
    }
    taken.set(key, of);
  }
}
