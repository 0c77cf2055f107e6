import { DocketError } from '../error.ts';
import { stripInvisible, toSingleLine } from './bidi.ts';
import { renderTemplate, type TemplateVariables } from './template.ts';

/** Text for a mail header: a single line without direction controls and invisible characters. */
export const headerText = (text: string): string => stripInvisible(toSingleLine(text)).trim();

/** Visible characters. Unicode does not count the Braille blank (U+2800) as white space. */
const VISIBLE = /[^\p{Default_Ignorable_Code_Point}\p{White_Space}\u2800]/u;

/** The subject from its template; undefined where it has no visible character. Throws `template.invalid`. */
function renderVisibleSubject(template: string, variables: TemplateVariables, where: string): string | undefined {
  const subject = headerText(renderTemplate(template, variables, where));
  return VISIBLE.test(subject) ? subject : undefined;
}

/** What the default subject says. */
export interface SubjectParts {
  readonly title: string;
  /** For readers, e.g. `October 2026`. */
  readonly period: string;
  /** The first headline; empty for none. */
  readonly headline: string;
}

const defaultSubject = ({ title, period, headline }: SubjectParts): string =>
  headerText(`${title}, ${period}${headline === '' ? '' : `: ${headline.replace(/\.$/, '')}`}`);

/**
 * The subject of an e-mail. Title, period and first headline without a template, and where the template gives an empty
 * subject for this period, which must not prevent the mail. Throws `template.invalid`.
 * @param where the field of the definition, e.g. `deliveries[].email.subject`
 */
export function renderSubject(
  template: string | undefined,
  variables: TemplateVariables,
  where: string,
  parts: SubjectParts,
): string {
  const subject = template === undefined ? undefined : renderVisibleSubject(template, variables, where);
  return subject ?? defaultSubject(parts);
}

/** Fills the template of a subject. Throws `template.invalid` for an empty subject, e.g. of comments or spaces alone. */
export function renderNonEmptySubject(template: string, variables: TemplateVariables, where: string): string {
  const subject = renderVisibleSubject(template, variables, where);
  if (subject !== undefined) return subject;
  throw new DocketError('template.invalid', `The template of ${where} gives an empty subject.`, {
    expected: 'a template that gives at least one visible character',
    got: `"${template}"`,
    where,
    next: 'Correct the template in the report definition, or remove it to use the title and the period.',
  });
}
