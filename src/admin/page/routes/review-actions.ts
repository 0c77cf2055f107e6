import { z } from 'zod';
import type { Access } from '../../access/access.ts';
import { incompleteForm, parseReason } from './page-context.ts';

type FormFields = Readonly<Record<string, string>>;

/** The reason of an approval that gives none. The API uses the same. */
export const DEFAULT_APPROVAL_REASON = 'approved';
/** Maximum numbers of a comment in an address. */
const MAX_DOUBTS = 8;

/** The actions of a review, by the last segment of their path. Each returns the path to redirect to. */
export const REVIEW_ACTIONS = {
  comments: async (access: Access, fields: FormFields, run: string): Promise<string> => {
    const section = parseSection(fields);
    const value = fields.value ? fields.value : undefined;
    if (fields.withdraw === 'yes') {
      await access.comment(run, section, null, value);
      return `/runs/${run}?did=withdrawn`;
    }
    // Browsers send CRLF line ends.
    const text = (fields.text ?? '').replaceAll(/\r\n?/g, '\n').trim();
    if (text === '') throw incompleteForm('The comment is empty.', 'a text, or the button that withdraws the comment');
    const { warnings } = await access.comment(run, section, text, value);
    const doubts = warnings.slice(0, MAX_DOUBTS).map(({ number }): [string, string] => ['doubt', number]);
    return `/runs/${run}?${new URLSearchParams([['did', 'commented'], ...doubts])}#comment-${fields.section}`;
  },

  approve: async (access: Access, fields: FormFields, run: string): Promise<string> => {
    const typed = (fields.reason ?? '').trim();
    const reason = typed === '' ? DEFAULT_APPROVAL_REASON : parseReason(typed);
    await access.approve(run, parseContent(fields), reason, fields.again === 'yes');
    return `/runs/${run}?did=approved`;
  },

  delegate: async (access: Access, { to = '', from = '', until = '', ...fields }: FormFields, run: string) => {
    if (until !== '' && !z.iso.date().safeParse(until).success)
      throw incompleteForm('The last day is not a date.', 'a day as YYYY-MM-DD');
    const reason = parseReason(fields.reason);
    await access.delegate(run, { to, from, reason, ...(until === '' ? {} : { until }) });
    return `/runs/${run}?did=delegated`;
  },

  reject: async (access: Access, fields: FormFields, run: string): Promise<string> => {
    const { outcome } = fields;
    if (outcome !== 'end' && outcome !== 'refetch')
      throw incompleteForm('Choose what happens to the run.', 'one of the two choices');
    const reason = parseReason(fields.reason);
    await access.reject(run, parseContent(fields), { reason, refetch: outcome === 'refetch' });
    return `/runs/${run}?did=${outcome === 'end' ? 'rejected' : 'refetch'}`;
  },
} as const;

function parseSection({ section = '' }: FormFields): string | null {
  if (section === '') throw incompleteForm('The form names no section.', 'a section of the report');
  return section === '_' ? null : section;
}

/** The full hash, because a decision is about exactly what the page showed. */
function parseContent({ content = '' }: FormFields): string {
  if (/^[0-9a-f]{64}$/.test(content)) return content;
  throw incompleteForm('The form does not name the content.', 'the form of the page');
}

/** Those numbers in an address that occur in the comments of a run: an address could contain anything. */
export const numbersInComments = (
  numbers: readonly string[],
  comments: readonly { readonly text: string }[],
): string[] =>
  [...new Set(numbers)].slice(0, MAX_DOUBTS).filter((number) => comments.some(({ text }) => text.includes(number)));
