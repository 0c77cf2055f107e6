import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Diagnostic, fileDiagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import { didYouMean } from '../../definitions/diagnostics/suggest.ts';
import { sampleTemplateData } from './sample-data.ts';
import { type EmailTemplateIssue, type OpenTemplate, openTemplate, TEMPLATES, type TemplateKind } from './template.ts';

const EXPECTED_CONTENT = {
  html: 'MJML with LiquidJS over the variables of templates/README.md',
  text: 'text with LiquidJS over the variables of templates/README.md',
} as const satisfies Record<TemplateKind, string>;

const templateDiagnostic = (
  kind: TemplateKind,
  { file, line, column, message }: EmailTemplateIssue,
  next = 'correct the template',
): Diagnostic => ({
  file,
  line,
  column,
  expected: EXPECTED_CONTENT[kind],
  got: message,
  next,
});

/** Finds variables that do not exist, in every part of the template, even in one that no sample reaches. */
function unknownVariables(
  kind: TemplateKind,
  { file, variables }: OpenTemplate,
  known: readonly string[],
): Diagnostic[] {
  return variables().flatMap(({ path: [name = ''], line, column }) =>
    known.includes(name)
      ? []
      : [
          templateDiagnostic(
            kind,
            { file, line, column, message: `undefined variable: ${name}` },
            didYouMean(name, known),
          ),
        ],
  );
}

function checkEmailTemplate(kind: TemplateKind, file: string): Diagnostic[] {
  const opened = openTemplate(kind, file);
  if ('issue' in opened) return [templateDiagnostic(kind, opened.issue)];
  const samples = sampleTemplateData();
  const unknown = unknownVariables(kind, opened, Object.keys(samples[0] ?? {}));
  if (unknown.length > 0) return unknown;
  // Filling the template also checks names inside lists.
  for (const data of samples) {
    const filled = opened.fill(data);
    if ('issue' in filled) return [templateDiagnostic(kind, filled.issue)];
  }
  return [];
}

/**
 * Checks custom e-mail templates by compiling each and filling it with sample data.
 * @param folder the value of `DOCKET_TEMPLATES`
 */
export function checkEmailTemplates(folder: string): Diagnostic[] {
  const names = Object.values(TEMPLATES);
  const templates = join(folder, 'email');
  if (!existsSync(templates)) {
    // A folder may contain templates for the PDF only.
    if (existsSync(join(folder, 'pack'))) return [];
    return [
      fileDiagnostic(
        templates,
        `a folder with ${names.join(' or ')}`,
        'nothing',
        'correct DOCKET_TEMPLATES, or make the folder',
      ),
    ];
  }
  const unknownFiles = readdirSync(templates)
    .filter((name) => /\.(mjml|liquid|html?|txt)$/i.test(name) && !names.some((known) => known === name))
    .map((name) =>
      fileDiagnostic(join(templates, name), names.join(' or '), 'an unknown template file', 'rename it, or delete it'),
    );
  const kinds = (['html', 'text'] as const).filter((kind) => existsSync(join(templates, TEMPLATES[kind])));
  return [...unknownFiles, ...kinds.flatMap((kind) => checkEmailTemplate(kind, join(templates, TEMPLATES[kind])))];
}
