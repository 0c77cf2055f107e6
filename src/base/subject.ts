import { withoutInvisible } from './bidi.ts';
import { DocketError } from './error.ts';
import { singleLine } from './single-line.ts';
import { fillTemplate, type TemplateVariables } from './template.ts';

/** A text as a header shows it: one line, whose order nothing in it turns around, and nothing that nobody sees. */
export const headerText = (text: string): string => withoutInvisible(singleLine(text)).trim();

/** A character that leaves a mark or room on the screen; the blank of Braille (U+2800) is no space to Unicode. */
const VISIBLE = /[^\p{Default_Ignorable_Code_Point}\p{White_Space}\u2800]/u;

/** The subject of an e-mail from its template, or nothing where it has no visible character. Throws `template.invalid`. */
function subjectOf(template: string, variables: TemplateVariables, where: string): string | undefined {
  const subject = headerText(fillTemplate(template, variables, where));
  return VISIBLE.test(subject) ? subject : undefined;
}

const DEFAULT_SUBJECT = '{{ title }} {{ period.label }}';

/**
 * The subject of an e-mail; the title and the period without a template, or where this period's is empty: what was
 * checked for another period must not keep the mail back. Throws `template.invalid`.
 * @param where the field of the definition, e.g. `deliveries[].email.subject`
 */
export function fillSubject(template: string | undefined, variables: TemplateVariables, where: string): string {
  const subject = template === undefined ? undefined : subjectOf(template, variables, where);
  return subject ?? headerText(fillTemplate(DEFAULT_SUBJECT, variables, where));
}

/** As `fillSubject`, but an empty subject, as one of comments or spaces alone makes, throws `template.invalid`. */
export function checkSubject(template: string, variables: TemplateVariables, where: string): string {
  const subject = subjectOf(template, variables, where);
  if (subject !== undefined) return subject;
  throw new DocketError('template.invalid', `The template of ${where} makes an empty subject.`, {
    expected: 'a template that makes at least one visible character',
    got: `"${template}"`,
    where,
    next: 'Correct the template in the report definition, or leave it out for the title and the period.',
  });
}
