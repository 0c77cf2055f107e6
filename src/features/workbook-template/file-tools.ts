import { join } from 'node:path';
import { DocketError } from '../../base/error.ts';
import type { Diagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import { findOrgFile, findOutputFile } from '../../definitions/load/org-file.ts';
import type { TemplateView } from '../../definitions/schema/template-view.ts';
import type { OutputFileTools } from '../../render/formats/format.ts';
import { outlineOfDefinition } from './binding/outline.ts';
import { describeWorkbookTemplate } from './describe-template.ts';
import { templateFiles } from './template-output.ts';
import type { TemplateProblem } from './template-problem.ts';
import { quoteSheetName } from './workbook/addresses.ts';

/** Checks and describes the workbook that an output fills. */
export const fileTools: OutputFileTools = {
  check: async (output, { definition, settings, folder, catalog }) => {
    const found: { readonly severity: string; readonly diagnostic: Diagnostic }[] = [];
    for (const { file: name } of templateFiles(output)) {
      const template = await findOrgFile(folder, name);
      // Loading the definition has already reported this file.
      if ('expected' in template) continue;
      const file = join(folder, name);
      const outline = outlineOfDefinition(definition, catalog, settings);
      const { problems } = await describeWorkbookTemplate(template.path, outline, file);
      for (const problem of problems)
        found.push({ severity: problem.severity, diagnostic: toDiagnostic(file, problem) });
    }
    const of = (severity: TemplateProblem['severity']) =>
      found.flatMap((each) => (each.severity === severity ? [each.diagnostic] : []));
    return { errors: of('error'), warnings: of('warning') };
  },
  view: async (output, { definition, settings, folder, catalog }) => {
    const [template] = templateFiles(output);
    if (template === undefined) throw new Error('The output has no template.');
    const { file } = template;
    try {
      const { path } = await findOutputFile(folder, template);
      const outline = outlineOfDefinition(definition, catalog, settings);
      const { tables, names, problems } = await describeWorkbookTemplate(path, outline, file);
      return { template: file, tables, names, problems: problems.map(problemView) };
    } catch (error) {
      if (!(error instanceof DocketError) || error.code !== 'template.invalid') throw error;
      const { message, expected = '', got = '' } = error;
      // The error's own advice names a path of this machine, which viewers must not see.
      const next = 'Put the file beside org.yaml, or correct the path of the template.';
      const problem = { severity: 'error', code: error.code, at: null, message, expected, got, next } as const;
      return { template: file, tables: [], names: [], problems: [problem] };
    }
  },
  lines: explainLines,
};

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

const problemView = ({
  severity,
  code,
  at,
  message,
  expected,
  got,
  next,
}: TemplateProblem): TemplateView['problems'][number] => ({
  ...{ severity, code, expected, got },
  at: at === undefined ? null : `${at.sheet}${at.cell === undefined ? '' : `!${at.cell}`}`,
  message: message ?? null,
  next: `${next.charAt(0).toUpperCase()}${next.slice(1)}.`,
});

/** Lines for `docket explain`: which values fill which tables and cells. */
function explainLines({ template, tables, names, problems }: TemplateView): readonly string[] {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const lines = [
    `Template ${template}${problems.length === 0 ? '' : `: ${problemCount(errors, problems.length - errors)}`}`,
  ];
  for (const { name, sheet, range, section, columns } of tables) {
    lines.push(`  ${quoted(sheet)}!${range}  table ${name} gets the rows of ${section}`);
    const width = Math.max(...columns.map(({ header }) => header.length));
    const shown = Math.min(width, MAX_HEADER);
    for (const { header, bound } of columns)
      lines.push(`    ${header.padEnd(shown)}  ${bound?.slice(section.length + 1) ?? OWN}`);
  }
  // The name of a cell already says what fills it.
  for (const { name, cell } of names) lines.push(`  ${cell}  ${name}`);
  return lines;
}

/** Longer headers push their bindings to the right. */
const MAX_HEADER = 36;
const OWN = '(its own formula or cells)';

const quoted = (sheet: string): string => (/^\w+$/.test(sheet) ? sheet : `'${sheet}'`);

function problemCount(errors: number, warnings: number): string {
  const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
  const parts = [
    ...(errors === 0 ? [] : [counted(errors, 'error')]),
    ...(warnings === 0 ? [] : [counted(warnings, 'warning')]),
  ];
  return `${parts.join(', ')} (docket check shows them)`;
}
