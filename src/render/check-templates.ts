import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { atStart, type Fault } from '../define/fault.ts';
import { didYouMean } from '../define/nearest.ts';
import { sampleData } from './sample.ts';
import { type OpenTemplate, openTemplate, TEMPLATES, type TemplateFault, type TemplateKind } from './template.ts';

const EXPECTED = {
  html: 'MJML with LiquidJS over the variables of templates/README.md',
  text: 'text with LiquidJS over the variables of templates/README.md',
} as const satisfies Record<TemplateKind, string>;

const faultOf = (
  kind: TemplateKind,
  { file, line, column, why }: TemplateFault,
  next = 'correct the template',
): Fault => ({
  file,
  line,
  column,
  expected: EXPECTED[kind],
  got: why,
  next,
});

/** The variables that no mail has, wherever the template names them, even where no sample leads. */
function unknownVariables(kind: TemplateKind, { file, variables }: OpenTemplate, known: readonly string[]): Fault[] {
  return variables().flatMap(({ path: [name = ''], line, column }) =>
    known.includes(name)
      ? []
      : [faultOf(kind, { file, line, column, why: `undefined variable: ${name}` }, didYouMean(name, known))],
  );
}

function faultsOf(kind: TemplateKind, file: string): Fault[] {
  const opened = openTemplate(kind, file);
  if ('fault' in opened) return [faultOf(kind, opened.fault)];
  const samples = sampleData();
  const unknown = unknownVariables(kind, opened, Object.keys(samples[0] ?? {}));
  if (unknown.length > 0) return unknown;
  // Names inside lists are only met by filling the template.
  for (const data of samples) {
    const filled = opened.fill(data);
    if ('fault' in filled) return [faultOf(kind, filled.fault)];
  }
  return [];
}

/**
 * What is wrong with templates of one's own, each with its line, before a mail depends on them; empty when all is well.
 * Each is laid out and filled with sample data of every kind.
 * @param folder what `DOCKET_TEMPLATES` names
 */
export function checkTemplates(folder: string): Fault[] {
  const names = Object.values(TEMPLATES);
  const home = join(folder, 'email');
  if (!existsSync(home)) {
    return [
      atStart(home, `a folder with ${names.join(' or ')}`, 'nothing', 'correct DOCKET_TEMPLATES, or make the folder'),
    ];
  }
  const strange = readdirSync(home)
    .filter((name) => /\.(mjml|liquid|html?|txt)$/i.test(name) && !names.some((known) => known === name))
    .map((name) =>
      atStart(join(home, name), names.join(' or '), 'a template that no mail uses', 'rename it, or take it away'),
    );
  const kinds = (['html', 'text'] as const).filter((kind) => existsSync(join(home, TEMPLATES[kind])));
  return [...strange, ...kinds.flatMap((kind) => faultsOf(kind, join(home, TEMPLATES[kind])))];
}
