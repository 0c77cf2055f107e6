import type { TemplateView } from '../../definitions/schema/template-view.ts';

/** What of a template gets what, in lines for `docket explain`. */
export function explainLines({ template, tables, names, problems }: TemplateView): readonly string[] {
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
  // A name says what its cell gets.
  for (const { name, cell } of names) lines.push(`  ${cell}  ${name}`);
  return lines;
}

/** Longer headers move what they get to the right. */
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
