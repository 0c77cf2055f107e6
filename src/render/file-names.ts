import { DocketError } from '../base/error.ts';
import { safeFileName } from '../base/files/safe-path.ts';
import { renderTemplate } from '../base/text/template.ts';
import type { Period } from '../definitions/periods/period.ts';
import type { Dataset } from '../fetch/dataset.ts';
import { messagesFor } from '../i18n/messages.ts';
import { formatShortDayOf } from './figures/format-date.ts';

/** The variables of a file name template. */
export interface NameVariables {
  readonly period: Period;
  readonly org: string;
  readonly report: string;
  readonly title: string;
  /** Only in the pack of a value. */
  readonly split?: { readonly value: string; readonly label: string; readonly slug: string };
  /** Only for a file that contains a single section. */
  readonly section?: { readonly id: string; readonly title: string };
  /** Ends the name whatever the template says, e.g. ` (corrected, replaces the edition of 3 Nov 2026)`. */
  readonly ending?: string;
}

/** Renders a file name: safe on every system, with the extension, at most 120 characters. Throws `template.invalid`. */
export function renderFileName(
  template: string,
  { ending = '', ...variables }: NameVariables,
  extension: `.${string}`,
): string {
  const text = renderTemplate(template, variables, `the name of a ${extension} output`).trim();
  // A workbook with macros has the other ending, whichever of the two its name was given.
  const ends = extension === '.xlsm' || extension === '.xlsx' ? ['.xlsm', '.xlsx'] : [extension];
  const given = ends.find((ending) => text.toLowerCase().endsWith(ending)) ?? '';
  const stem = text.slice(0, text.length - given.length);
  return safeFileName(stem, `${ending}${extension}`);
}

const DEFAULT_SECTION_NAME = '{{ title }} {{ period.label }}';

/**
 * What the names of a section's files begin with. Truncates a long title rather than the section's id, which makes the names
 * unique. Throws `template.invalid`.
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

/** What ends the names of a corrected edition's files: another name than that of the edition that it replaces. */
export function nameEnding({ correction, period }: Pick<Dataset, 'correction' | 'period'>, locale?: string): string {
  const at = correction === undefined ? undefined : new Date(correction.replaces.at);
  if (at === undefined || Number.isNaN(at.getTime())) return '';
  const day = formatShortDayOf(at, period.timezone, locale);
  return ` (${messagesFor(locale).review.correctedFile(day)})`;
}

/** Throws `render.failed` for two files whose names differ at most in case. */
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
