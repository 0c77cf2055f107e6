import { bindTemplate } from './binding/bind-template.ts';
import type { ReportOutline, TemplateBindings } from './binding/bindings.ts';
import { findCellProblems } from './binding/cell-problems.ts';
import { findObstacles } from './growth/find-obstacles.ts';
import { findRefusedContent } from './package/refused-content.ts';
import type { TemplatePackage } from './package/template-package.ts';
import type { TemplateProblem } from './template-problem.ts';
import { readWorkbook } from './workbook/read-workbook.ts';
import type { TemplateWorkbook } from './workbook/workbook.ts';

/** A template that has been read, with what it gets and everything that is known of it without figures. */
export interface InspectedTemplate {
  readonly workbook: TemplateWorkbook;
  readonly bindings: TemplateBindings;
  /** Those of the bindings included. A template with an error is not filled. */
  readonly problems: readonly TemplateProblem[];
}

/**
 * Reads and binds an opened template. A check and a run see the same problems for it.
 * Throws `template.invalid` for parts that cannot be read.
 */
export async function inspectTemplate(template: TemplatePackage, outline: ReportOutline): Promise<InspectedTemplate> {
  const refused = await findRefusedContent(template);
  const workbook = await readWorkbook(template);
  const bindings = bindTemplate(workbook, outline);
  const known = [...refused, ...bindings.problems];
  // Damaged or foreign content is reported by itself: reading sheets would fail at the first of it.
  if (refused.some(({ severity }) => severity === 'error')) return { workbook, bindings, problems: known };
  const cells = await findCellProblems(template, workbook, bindings, outline);
  return { workbook, bindings, problems: [...known, ...cells, ...(await findObstacles(template, workbook, bindings))] };
}
