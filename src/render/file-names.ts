import { DocketError } from '../base/error.ts';
import { safeFileName } from '../base/files/safe-path.ts';
import { renderTemplate } from '../base/text/template.ts';
import type { Period } from '../definitions/periods/period.ts';
import type { Dataset } from '../fetch/dataset.ts';
import { messagesFor } from '../i18n/messages.ts';
import { formatShortLocalDay } from './figures/format-date.ts';

/** The variables of a file name template. */
export interface NameVariables {
  readonly period: Period;
  readonly org: string;
  readonly report: string;
  readonly title: string;
  /** Only in the report of one `split` value. */
  readonly split?: { readonly value: string; readonly label: string; readonly slug: string };
  /** Only for a file with a single section. */
  readonly section?: { readonly id: string; readonly title: string };
  /**
   * Added at the end of every name, whatever the template says, e.g. ` (corrected, replaces the edition of 3 Nov
   * 2026)`.
   */
  readonly ending?: string;
}

/** Renders a file name with its extension: safe on every system, at most 120 characters. Throws `template.invalid`. */
export function renderFileName(
  template: string,
  { ending = '', ...variables }: NameVariables,
  extension: `.${string}`,
): string {
  const text = renderTemplate(template, variables, `the name of a ${extension} output`).trim();
  // A workbook with macros needs the other extension, even if the template's name ends in one of the two.
  const ends = extension === '.xlsm' || extension === '.xlsx' ? ['.xlsm', '.xlsx'] : [extension];
  const given = ends.find((ending) => text.toLowerCase().endsWith(ending)) ?? '';
  const stem = text.slice(0, text.length - given.length);
  return safeFileName(stem, `${ending}${extension}`);
}

const DEFAULT_SECTION_NAME = '{{ title }} {{ period.label }}';

/**
 * The beginning of the names of a section's files. A long title is truncated rather than the section's id, which makes
 * the names unique. Throws `template.invalid`.
 * @param options `added` to the default name, e.g. the section's id; `longestSuffix` of the files
 */
export function sectionFileStem(
  template: string | undefined,
  { ending = '', ...variables }: NameVariables,
  { id, title }: { readonly id: string; readonly title: string },
  options: { readonly added: string; readonly extension: `.${string}`; readonly longestSuffix: string },
): string {
  const { added, extension, longestSuffix } = options;
  const name = renderFileName(template ?? DEFAULT_SECTION_NAME, { ...variables, section: { id, title } }, extension);
  const suffix = `${template === undefined ? added : ''}${ending}${longestSuffix}`;
  return safeFileName(name.slice(0, -extension.length), suffix).slice(0, -longestSuffix.length);
}

/** The ending for the file names of a corrected edition, so that they differ from those of the replaced edition. */
export function nameEnding({ correction, period }: Pick<Dataset, 'correction' | 'period'>, locale?: string): string {
  const at = correction === undefined ? undefined : new Date(correction.replaces.at);
  if (at === undefined || Number.isNaN(at.getTime())) return '';
  const day = formatShortLocalDay(at, period.timezone, locale);
  return ` (${messagesFor(locale).review.correctedFile(day)})`;
}

/** Throws `render.failed` if the names of two files are equal, ignoring case. */
export function assertDistinctNames(files: readonly { readonly name: string; readonly label: string }[]): void {
  const taken = new Map<string, string>();
  for (const { name, label } of files) {
    const key = name.normalize('NFC').toLowerCase();
    const other = taken.get(key);
    if (other !== undefined) {
      throw new DocketError(
        'render.failed',
        `Two files of the report have the name "${name}": ${other} and ${label}.`,
        {
          expected: 'a distinct name for each file',
          got: `"${name}" twice`,
          next: 'Make the names under "outputs" differ; a CSV name needs {{ section.id }} when the report has several sections.',
        },
      );
    }
    taken.set(key, label);
  }
}
