import { withoutInvisible } from './bidi.ts';
import { DocketError } from './error.ts';
import { singleLine } from './single-line.ts';
import { fillTemplate, type TemplateVariables } from './template.ts';

/** A text as a header shows it: one line, whose order nothing in it turns around, and nothing that nobody sees. */
export const headerText = (text: string): string => withoutInvisible(singleLine(text)).trim();

/**
 * The subject of an e-mail from its template. One of comments or spaces alone makes none. Throws `template.invalid`.
 * @param where the field of the definition, e.g. `deliveries[].email.subject`
 */
export function fillSubject(template: string, variables: TemplateVariables, where: string): string {
  const subject = headerText(fillTemplate(template, variables, where));
  if (subject !== '') return subject;
  throw new DocketError('template.invalid', `The template of ${where} makes an empty subject.`, {
    expected: 'a template that makes at least one visible character',
    got: `"${template}"`,
    where,
    next: 'Correct the template in the report definition, or leave it out for the title and the period.',
  });
}
