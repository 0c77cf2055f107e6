import { stringify } from 'yaml';

/** A YAML scalar on one line, quoted only if needed. It may end with a space that YAML does not trim, such as U+00A0. */
export const scalar = (text: string): string => stringify(text, { lineWidth: 0, blockQuote: false }).replace(/\n$/, '');
