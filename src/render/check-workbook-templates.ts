import { join } from 'node:path';
import type { Catalog } from '../contract/catalog.ts';
import type { Diagnostic } from '../definitions/diagnostics/diagnostic.ts';
import { findOrgFile } from '../definitions/load/org-file.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import type { Definition } from '../definitions/schema/report-definition.ts';
import { templateOf } from './formats/xlsx/xlsx-output.ts';
import { outlineOfDefinition } from './workbook-template/binding/outline.ts';
import { describeWorkbookTemplate } from './workbook-template/describe-template.ts';
import type { TemplateProblem } from './workbook-template/template-problem.ts';
import { quoteSheetName } from './workbook-template/workbook/addresses.ts';

export interface WorkbookDiagnostics {
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
}

/**
 * What is wrong with the workbooks that a report's outputs fill. A file that cannot be read is left out: loading the
 * definition has named it.
 *
 * @param folder of `org.yaml`, as diagnostics name it
 * @param catalog absent: labels are not checked
 */
export async function checkWorkbookTemplates(
  definition: Definition,
  settings: Pick<OrgSettings, 'readings' | 'units' | 'labels'>,
  folder: string,
  catalog?: Catalog,
): Promise<WorkbookDiagnostics> {
  const errors: Diagnostic[] = [];
  const warnings: Diagnostic[] = [];
  for (const template of definition.outputs.flatMap((output) => templateOf(output) ?? [])) {
    const found = await findOrgFile(folder, template);
    if ('expected' in found) continue;
    const file = join(folder, template);
    const outline = outlineOfDefinition(definition, catalog, settings);
    for (const problem of (await describeWorkbookTemplate(found.path, outline, file)).problems) {
      (problem.severity === 'error' ? errors : warnings).push(toDiagnostic(file, problem));
    }
  }
  return { errors, warnings };
}

function toDiagnostic(file: string, { at, code, message, expected, got, next }: TemplateProblem): Diagnostic {
  const cell =
    at === undefined ? undefined : [quoteSheetName(at.sheet), at.cell].filter((each) => each !== undefined).join('!');
  return {
    file,
    line: 1,
    column: 1,
    ...(message === undefined ? {} : { message }),
    expected,
    got,
    next,
    code,
    ...(cell === undefined ? {} : { cell }),
  };
}
