import type { TemplateProblem } from '../../template-problem.ts';
import { clipText } from '../invalid-template.ts';
import type { TemplatePackage } from '../template-package.ts';
import { tokenizeXmlStream } from '../tokenize-xml.ts';
import { attributeOf } from '../xml-tokens.ts';
import { type ExternalLink, linkProblem } from './refused-links.ts';

/** Elements whose text is a formula, in sheets, tables and the workbook. */
const FORMULAS: ReadonlySet<string> = new Set([
  'f',
  'formula',
  'formula1',
  'formula2',
  'definedName',
  'calculatedColumnFormula',
  'totalsRowFormula',
]);

/** Functions that load something, or run code, when the workbook is opened. */
const REMOTE_FUNCTION = /(?:^|[^\w.])(?:_xlfn\.)?(?:_xlws\.)?(IMAGE|WEBSERVICE|RTD|CALL|REGISTER(?:\.ID)?)\s*\(/i;
/** Bytes without any of these hold no refused formula. A NUL is another encoding; comments may divide a name. */
export const SUSPICIOUS = /[|\0]|&#|<!|<\?(?!xml\s)|IMAGE|WEBSERVICE|RTD|CALL|REGISTER|\[\d+\]/i;
/** `[1]Sheet1!A1`, `'[1]My sheet'!A1`, `[1]!name`. */
const OTHER_WORKBOOK = /(?:^|[^\w.\]])'?\[(\d+)\][^'!"]*'?!/g;

/**
 * Formulas of a part that reach outside of the workbook, with their cells.
 * @param links of the workbook; those that a formula uses are removed from `unreported`
 */
export async function findRefusedFormulas(
  pack: TemplatePackage,
  part: string,
  sheet: string | undefined,
  links: readonly ExternalLink[],
  unreported: Set<number>,
): Promise<readonly TemplateProblem[]> {
  const problems: TemplateProblem[] = [];
  let cell: string | undefined;
  let formula: string | undefined;
  for await (const tokens of tokenizeXmlStream(await pack.openPart(part), part)) {
    for (const token of tokens) {
      if (token.kind === 'open') {
        if (token.local === 'c') cell = attributeOf(token, 'r');
        if (token.local === 'sheetData') cell = undefined;
        if (FORMULAS.has(token.local)) formula = '';
      } else if (token.kind === 'text' && formula !== undefined) formula += token.text;
      else if (token.kind === 'close') {
        if (token.local === 'c') cell = undefined;
        if (!FORMULAS.has(token.local) || formula === undefined) continue;
        const at = sheet === undefined ? undefined : { sheet, ...(cell === undefined ? {} : { cell }) };
        problems.push(...problemsOf(formula, at, links, unreported));
        formula = undefined;
      }
    }
  }
  return problems;
}

function problemsOf(
  formula: string,
  at: TemplateProblem['at'],
  links: readonly ExternalLink[],
  unreported: Set<number>,
): readonly TemplateProblem[] {
  const problems: TemplateProblem[] = [];
  for (const [, digits] of formula.matchAll(OTHER_WORKBOOK)) {
    const link = links.find(({ number }) => number === Number(digits));
    // A link that many formulas use is named once, with the first.
    if (link !== undefined && unreported.delete(link.number)) problems.push(linkProblem(link.what, at));
  }
  const plain = withoutTexts(formula);
  if (plain.includes('|')) problems.push(linkProblem(`a DDE link in the formula ${clipText(formula)}`, at));
  const called = REMOTE_FUNCTION.exec(plain)?.[1];
  if (called !== undefined) {
    problems.push({
      severity: 'error',
      code: 'workbook.external',
      ...(at === undefined ? {} : { at }),
      expected: 'formulas that need nothing outside of the workbook',
      got: `${called.toUpperCase()} in ${clipText(formula)}`,
      next: 'Replace the formula by its value',
    });
  }
  return problems;
}

/** A formula without its texts, the names of sheets in quotation marks, and the columns of tables. */
function withoutTexts(formula: string): string {
  let plain = formula.replace(/"(?:[^"]|"")*"|'(?:[^']|'')*'/g, '');
  for (let before = ''; before !== plain; ) {
    before = plain;
    plain = plain.replace(/\[[^[\]]*\]/g, '');
  }
  return plain;
}
