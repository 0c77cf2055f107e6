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
  { file, line, column, why }: EmailTemplateIssue,
  next = 'correct the template',
): Diagnostic => ({
  file,
  line,
  column,
  expected: EXPECTED_CONTENT[kind],
  got: why,
  next,
});

/** The variables that no mail has, wherever the template names them, even where no sample leads. */
function unknownVariables(
  kind: TemplateKind,
  { file, variables }: OpenTemplate,
  known: readonly string[],
): Diagnostic[] {
  return variables().flatMap(({ path: [name = ''], line, column }) =>
    known.includes(name)
      ? []
      : [templateDiagnostic(kind, { file, line, column, why: `undefined variable: ${name}` }, didYouMean(name, known))],
  );
}

function checkEmailTemplate(kind: TemplateKind, file: string): Diagnostic[] {
  const opened = openTemplate(kind, file);
  if ('fault' in opened) return [templateDiagnostic(kind, opened.fault)];
  const samples = sampleTemplateData();
  const unknown = unknownVariables(kind, opened, Object.keys(samples[0] ?? {}));
  if (unknown.length > 0) return unknown;
  // Names inside lists are only met by filling the template.
  for (const data of samples) {
    const filled = opened.fill(data);
    if ('fault' in filled) return [templateDiagnostic(kind, filled.fault)];
  }
  return [];
}

/**
 * What is wrong with templates of one's own, each with its line, before a mail depends on them; empty when all is well.
 * Each is laid out and filled with sample data of every kind.
 * @param folder what `DOCKET_TEMPLATES` names
 */
export function checkEmailTemplates(folder: string): Diagnostic[] {
  const names = Object.values(TEMPLATES);
  const home = join(folder, 'email');
  if (!existsSync(home)) {
    return [
      fileDiagnostic(
        home,
        `a folder with ${names.join(' or ')}`,
        'nothing',
        'correct DOCKET_TEMPLATES, or make the folder',
      ),
    ];
  }
  const strange = readdirSync(home)
    .filter((name) => /\.(mjml|liquid|html?|txt)$/i.test(name) && !names.some((known) => known === name))
    .map((name) =>
      fileDiagnostic(
        join(home, name),
        names.join(' or '),
        'a template that no mail uses',
        'rename it, or take it away',
      ),
    );
  const kinds = (['html', 'text'] as const).filter((kind) => existsSync(join(home, TEMPLATES[kind])));
  return [...strange, ...kinds.flatMap((kind) => checkEmailTemplate(kind, join(home, TEMPLATES[kind])))];
}
