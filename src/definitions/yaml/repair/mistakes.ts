import type { DiagnosticText } from '../../diagnostics/diagnostic.ts';
import { isSecretField, looksLikeSecret } from '../secret-detection.ts';
import type { EditedText, LineColumn } from './edited-text.ts';
import { quoteEnd, type Span } from './line-scan.ts';

/** A mistake in the text, at its place before the repair. */
export interface Mistake {
  readonly at: LineColumn;
  /** Column, exclusive. */
  readonly end: number;
  readonly text: DiagnosticText;
}

/** A text with some mistakes repaired. Whether they were any is told by parsing it. */
export interface Candidate {
  readonly text: EditedText;
  readonly mistakes: readonly Mistake[];
}

/** Why a text needs quotes. */
export type QuoteReason = 'template' | 'colon' | 'text' | 'escape';

/** Why YAML misreads a value that is written so; undefined if it does not. */
export function quoteReason(value: string): QuoteReason | undefined {
  if (/^["']/.test(value)) {
    const end = quoteEnd(value, 0);
    if (end === -1) return undefined;
    if (end < value.length) return 'text';
    return value.startsWith('"') && value.includes('\\') ? 'escape' : undefined;
  }
  if (/\{[{%]/.test(value)) return 'template';
  if (/:(\s|$)/.test(value)) return 'colon';
  return /^([@`%,*&!|>]|[-?]\s)/.test(value) ? 'text' : undefined;
}

/** The value as a text in quotes. Quotes around a part of it are kept as characters, but for those that have a bad escape. */
export const inQuotes = (value: string, reason: QuoteReason): string =>
  reason === 'escape'
    ? `'${value.slice(1, -1).replaceAll("'", "''")}'`
    : value.includes('"') || value.includes('\\')
      ? `'${value.replaceAll("'", "''")}'`
      : `"${value}"`;

/** The value in quotes for a reader; undefined for one that may be a secret. */
function shown(value: string, reason: QuoteReason, key: string | undefined): string | undefined {
  if (looksLikeSecret(value) || (key !== undefined && isSecretField(key)) || value.length > 80) return undefined;
  return inQuotes(value, reason);
}

export function quoteMistake(value: string, reason: QuoteReason, key?: string): DiagnosticText {
  const example = shown(value, reason, key);
  const next = example === undefined ? 'put the whole text in quotes' : `write ${example}`;
  switch (reason) {
    case 'template':
      return {
        code: 'yaml.unquoted_template',
        message: 'a template without quotes',
        expected: 'quotes around a text with {{ }}: YAML reads a brace as a mapping',
        got: 'no quotes',
        next,
      };
    case 'colon':
      return {
        code: 'yaml.unquoted_colon',
        message: 'a text with ": " without quotes',
        expected: 'quotes around it: YAML reads "name: value"',
        got: 'no quotes',
        next,
      };
    case 'escape':
      return {
        code: 'yaml.unquoted_text',
        message: 'a backslash between double quotes',
        expected: 'an escape that YAML knows, or single quotes',
        got: 'another character after it',
        next,
      };
    case 'text': {
      const isPartly = /^["']/.test(value);
      return {
        code: 'yaml.unquoted_text',
        message: 'a text that YAML cannot read without quotes',
        expected: isPartly
          ? 'quotes around the whole text'
          : `quotes around a text that begins with "${value[0] ?? ''}"`,
        got: isPartly ? 'quotes around a part of it' : 'no quotes',
        next,
      };
    }
  }
}

export const TAB_MISTAKE = (more: number): DiagnosticText => ({
  code: 'yaml.tab',
  message: 'a tab in the indentation',
  expected: 'spaces: YAML does not allow tabs there',
  got: more === 0 ? 'a tab' : `tabs, also in ${more === 1 ? 'the next line' : `the next ${more} lines`}`,
  next: 'replace each tab by spaces',
});

export const indentationMistake = (
  { is, should, like }: { readonly is: number; readonly should: number; readonly like: number | undefined },
  more: number,
): DiagnosticText => ({
  code: 'yaml.indentation',
  message: 'wrong indentation',
  expected: `${spaces(should)} in front${like === undefined ? '' : `, as in line ${like + 1}`}`,
  got: `${is}`,
  next: `${should > is ? `add ${spaces(should - is)}` : `remove ${spaces(is - should)}`}${more === 0 ? '' : `, also from the ${more === 1 ? 'line' : `${more} lines`} below`}`,
});

const spaces = (count: number): string => (count === 1 ? '1 space' : `${count === 0 ? 'no' : count} spaces`);

export const MISSING_SPACE = (mark: ':' | '-'): DiagnosticText => ({
  code: 'yaml.missing_space',
  message: `no space after "${mark}"`,
  expected: mark === ':' ? '"name: value"' : '"- entry"',
  got: `"${mark}" directly before the text`,
  next: `add a space after the "${mark}"`,
});

export const MISSING_COLON: DiagnosticText = {
  code: 'yaml.missing_colon',
  message: 'no ":" after the name of a field',
  expected: '"name: value"',
  got: 'two texts without a colon',
  next: 'write ":" after the name; or put a text of several lines in quotes',
};

export const MISSING_COMMA: DiagnosticText = {
  code: 'yaml.missing_comma',
  message: 'no comma between two fields',
  expected: '{ name: value, name: value }',
  got: 'a second field without a comma before it',
  next: 'add a comma',
};

export const UNCLOSED_QUOTE = (quote: string): DiagnosticText => ({
  code: 'yaml.unclosed_quote',
  message: 'a quote that is not closed',
  expected: `a second ${quote} at the end of the text`,
  got: 'none',
  next: 'add it',
});

export const UNCLOSED_BRACKET = (bracket: string, closing: string): DiagnosticText => ({
  code: 'yaml.brackets',
  message: 'a bracket that is not closed',
  expected: `"${closing}" after the last value`,
  got: `"${bracket}" alone`,
  next: 'add it',
});

export const EXTRA_BRACKET = (bracket: string): DiagnosticText => ({
  code: 'yaml.brackets',
  message: 'a bracket that nothing opened',
  expected: 'as many opening as closing brackets',
  got: `"${bracket}"`,
  next: 'remove it',
});

export const MERGE_CONFLICT: DiagnosticText = {
  code: 'yaml.merge_conflict',
  message: 'a merge conflict of git that is not resolved',
  expected: 'one of the two versions',
  got: 'both, with marks between them',
  next: 'keep one version and remove the lines <<<<<<<, ======= and >>>>>>>',
};

/** The part of a value in which a comma is missing before a second field: `a b: 2`. */
export function missingComma(value: string): Span | undefined {
  // A text of several words is rather one without quotes.
  const found = /^(\S+)(\s+)[a-z_]\w*:\s/.exec(value);
  if (found === null) return undefined;
  const start = found[1]?.length ?? 0;
  return { start, end: start + (found[2]?.length ?? 0) };
}
