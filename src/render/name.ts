import { DocketError } from '../base/error.ts';
import { safeName } from '../base/path.ts';
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
