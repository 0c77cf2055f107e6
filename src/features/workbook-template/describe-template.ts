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

/** What of a template gets what, as it is before it is filled. */
export interface DescribedTemplate {
  readonly tables: readonly Omit<FilledTable, 'rows'>[];
  /** `cell`: `Board!B4`, or a merged area; `bound`: `onboarding.profiles.created.previous_period`. */
  readonly names: readonly { readonly name: string; readonly cell: string; readonly bound: string }[];
  /** Errors first. */
  readonly problems: readonly TemplateProblem[];
}

/** Names and figures as a definition has them. */
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

/** Errors first; what is about no cell comes behind what is. */
const bySeverity = (problems: readonly TemplateProblem[]): readonly TemplateProblem[] => {
  const rank = ({ severity, at }: TemplateProblem) => (severity === 'error' ? 0 : 2) + (at === undefined ? 1 : 0);
  return problems.toSorted((one, other) => rank(one) - rank(other));
};

/**
 * What a template gets of a report, and its problems. A file that is no workbook is a problem, too; one that cannot be
 * opened throws.
 * @param file as problems name it; the name of the file when absent
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
