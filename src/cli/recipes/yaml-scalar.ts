import { stringify } from 'yaml';

/** A YAML scalar on one line, quoted only if needed. It may end with a space that YAML does not trim, such as U+00A0. */
export const scalar = (text: string, defaultStringType: 'PLAIN' | 'QUOTE_DOUBLE' = 'PLAIN'): string =>
  stringify(text, { lineWidth: 0, blockQuote: false, defaultStringType }).replace(/\n$/, '');
