import { DocketError } from '../error.ts';
import { stripInvisible, toSingleLine } from './bidi.ts';
import { renderTemplate, type TemplateVariables } from './template.ts';

/** Text for a mail header: a single line without direction controls and invisible characters. */
export const headerText = (text: string): string => stripInvisible(toSingleLine(text)).trim();

/** Matches visible characters. Unicode does not count the Braille blank (U+2800) as white space. */
const VISIBLE = /[^\p{Default_Ignorable_Code_Point}\p{White_Space}\u2800]/u;

/** Renders the subject from its template; undefined if it has no visible character. Throws `template.invalid`. */
function renderVisibleSubject(template: string, variables: TemplateVariables, where: string): string | undefined {
  const subject = headerText(renderTemplate(template, variables, where));
  return VISIBLE.test(subject) ? subject : undefined;
}

/** The parts of the default subject. */
export interface SubjectParts {
  readonly title: string;
  /** For readers, e.g. `October 2026`. */
  readonly period: string;
  /** The first headline; empty if there is none. */
  readonly headline: string;
}

const defaultSubject = ({ title, period, headline }: SubjectParts): string =>
  headerText(`${title}, ${period}${headline === '' ? '' : `: ${headline.replace(/\.$/, '')}`}`);

/**
 * The subject of an e-mail. It consists of title, period and first headline if there is no template, or if the template
 * gives an empty subject for this period: that must not prevent the e-mail. Throws `template.invalid`.
 * @param where the definition's field, e.g. `deliveries[].email.subject`
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

/**
 * Renders a subject's template. Throws `template.invalid` for an empty subject, e.g. one of only comments or spaces.
 */
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
