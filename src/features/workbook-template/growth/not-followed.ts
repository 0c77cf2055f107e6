import { parseFormula } from './formula-references.ts';

/** References that do not follow growth. */
export type NotFollowed = 'INDIRECT' | 'OFFSET' | 'references across several sheets';

const FUNCTION = /(?<![\p{L}\p{N}_.])(INDIRECT|OFFSET)\s*\(\s*("(?:[^"]|"")*"\s*[,)])?/giu;

/** @param formula as written in the file, without `=` */
export function findNotFollowed(formula: string): ReadonlySet<NotFollowed> {
  const found = new Set<NotFollowed>();
  if (/INDIRECT|OFFSET/i.test(formula)) {
    for (const [, name = '', text] of withoutTexts(formula).matchAll(FUNCTION)) {
      if (/^offset$/i.test(name)) found.add('OFFSET');
      else if (text === undefined || isAddress(text.slice(1, text.lastIndexOf('"')))) found.add('INDIRECT');
    }
  }
  if (/:.*!/.test(formula)) {
    const pieces = parseFormula(formula);
    if (pieces.some((piece) => typeof piece !== 'string' && piece.elsewhere === 'sheets')) {
      found.add('references across several sheets');
    }
  }
  return found;
}

/** Empties all texts except the first argument of INDIRECT, so that their content is not taken for a function. */
const withoutTexts = (formula: string): string =>
  formula.replace(/(INDIRECT\s*\(\s*)?"(?:[^"]|"")*"/gi, (whole, call?: string) => (call === undefined ? '""' : whole));

/** Whether INDIRECT reads the text as an address. Names and structured references follow growth. */
const isAddress = (text: string): boolean =>
  parseFormula(text).some((piece) => typeof piece !== 'string') ||
  /^[rc][\d[\]-]*(?:[rc][\d[\]-]*)?$/i.test(text) ||
  text.includes('!');
