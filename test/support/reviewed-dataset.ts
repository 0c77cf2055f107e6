import type { CommentBlock } from '../../src/definitions/commentary/comment-text.ts';
import { parseComment } from '../../src/definitions/commentary/comment-text.ts';
import type { Approval, Comment } from '../../src/definitions/commentary/printed-review.ts';
import type { CorrectedEdition, Dataset } from '../../src/fetch/dataset.ts';

// What people add to a dataset: comments, an approval, a correction.

const AT = '2026-11-16T09:12:00Z';

export const comment = (
  section: string | null,
  text: string | readonly CommentBlock[],
  author = 'Ada Lovelace',
): Comment => ({
  section,
  author,
  at: AT,
  blocks: typeof text === 'string' ? parseComment(text) : text,
});

export const approval = (...names: readonly string[]): Approval => ({
  by: names.map((name) => ({ name, at: AT })),
  content: 'c'.repeat(64),
});

export const correction = (changes: CorrectedEdition['changes']): CorrectedEdition => ({
  replaces: { run: 'f'.repeat(32), at: '2026-11-03T09:56:00Z' },
  changes,
});

/** Texts that try to be executed, formatted or moved. Each is a paragraph. */
export const HOSTILE = [
  '=HYPERLINK("https://evil.example","click")',
  '@SUM(A1:A9)|cmd',
  '<script>alert(1)</script><img src=x onerror=alert(2)>',
  '{{ org }} {% raw %} </mj-text> &lt;b&gt;',
  '#read("/etc/passwd") $x^2$ `code` <label> @cite //evil',
  'left \u202eright\u2066 [link](https://evil.example) \u2028Bcc: all@evil.example',
] as const;

/** The dataset with a comment everywhere a comment is allowed. */
export const commented = (data: Dataset, text: string | readonly CommentBlock[]): Dataset => ({
  ...data,
  comments: [comment(null, text), ...data.tables.map(({ id }) => comment(id, text))],
});
