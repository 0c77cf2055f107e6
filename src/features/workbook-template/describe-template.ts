import { basename } from 'node:path';
import { DocketError } from '../../base/error.ts';
import type { FilledTable } from '../../render/artifact.ts';
import type { ReportOutline, TemplateBindings } from './binding/bindings.ts';
import { columnText, nameText } from './binding/target-text.ts';
import { type InspectedTemplate, inspectTemplate } from './inspect-template.ts';
import { problemOfError } from './package/invalid-template.ts';
import { openPackage } from './package/open-package.ts';
import type { TemplateProblem } from './template-problem.ts';
import { formatRange, quoteSheetName } from './workbook/addresses.ts';

/** Which values fill which tables and cells of a template, before it is filled. */
export interface DescribedTemplate {
  readonly tables: readonly Omit<FilledTable, 'rows'>[];
  /** `cell`: `Board!B4`, or a merged area. `bound`: `onboarding.profiles.created.previous_period`. */
  readonly names: readonly { readonly name: string; readonly cell: string; readonly bound: string }[];
  /** Errors first. */
  readonly problems: readonly TemplateProblem[];
}

/** The bindings, with names and figures in the spelling of the definition. */
export const describeBindings = ({ tables, names }: TemplateBindings): Omit<DescribedTemplate, 'problems'> => ({
  tables: tables.map(({ table, section, columns }) => ({
    name: table.name,
    sheet: table.sheet,
    range: formatRange(table.range),
    section,
    columns: table.columns.map(({ header }, index) => {
      const target = columns[index] ?? null;
      return { header, bound: target === null ? null : `${section}.${columnText(target)}` };
    }),
  })),
  names: names.flatMap(({ name: { name, target: at }, target }) =>
    at === undefined
      ? []
      : [{ name, cell: `${quoteSheetName(at.sheet)}!${formatRange(at.range)}`, bound: nameText(target) }],
  ),
});

/** Errors first. Problems without a cell come after those with one. */
const bySeverity = (problems: readonly TemplateProblem[]): readonly TemplateProblem[] => {
  const rank = ({ severity, at }: TemplateProblem) => (severity === 'error' ? 0 : 2) + (at === undefined ? 1 : 0);
  return problems.toSorted((one, other) => rank(one) - rank(other));
};

/**
 * What a report fills in a template, and the problems of the template. A file that is not a workbook is one problem; a
 * file that cannot be opened throws.
 * @param file name for problems; default: the name of the file
 */
export async function describeWorkbookTemplate(
  path: string,
  outline: ReportOutline,
  file = basename(path),
): Promise<DescribedTemplate> {
  try {
    const template = await openPackage(path, file);
    try {
      const inspected: InspectedTemplate = await inspectTemplate(template, outline);
      return { ...describeBindings(inspected.bindings), problems: bySeverity(inspected.problems) };
    } finally {
      await template.close();
    }
  } catch (error) {
    if (!(error instanceof DocketError) || error.code !== 'template.invalid') throw error;
    return { tables: [], names: [], problems: [problemOfError(error)] };
  }
}
