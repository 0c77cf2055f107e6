import type { ReportOutline } from './binding/bindings.ts';
import { describeWorkbookTemplate } from './describe-template.ts';
import type { TemplateProblem } from './template-problem.ts';

/**
 * Everything that is wrong with a template, or that its author should know, without figures: errors first.
 * @param file as problems name it; the name of the file when absent
 */
export const checkWorkbookTemplate = async (
  path: string,
  outline: ReportOutline,
  file?: string,
): Promise<TemplateProblem[]> => [...(await describeWorkbookTemplate(path, outline, file)).problems];
