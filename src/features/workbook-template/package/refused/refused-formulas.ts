import type { TemplateProblem } from '../../template-problem.ts';
import { clipText } from '../invalid-template.ts';
import type { TemplatePackage } from '../template-package.ts';
import { tokenizeXmlStream } from '../tokenize-xml.ts';
import { attributeOf, type XmlOpen } from '../xml-tokens.ts';
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

/**
 * Attributes that contain a formula: limits of icons and bars, texts of shapes, cells of form controls, areas of camera
 * pictures.
 */
const FORMULA_ATTRIBUTES: ReadonlySet<string> = new Set([
  'textlink',
  'fmlaLink',
  'fmlaRange',
  'fmlaGroup',
  'fmlaTxbx',
  'cellRange',
  'macro',
]);

/** Functions that load something, run code, or send cells to a service when the workbook is opened or calculated. */
const REMOTE_NAMES =
  'IMAGE|WEBSERVICE|RTD|DDE|CALL|REGISTER(?:\\.ID)?|STOCKHISTORY|FIELDVALUE|CUBE[A-Z]+|SQL\\.REQUEST|IMPORTTEXT|IMPORTCSV|TRANSLATE|DETECTLANGUAGE|COPILOT|PY|_XLL\\.[\\w.]+';
const REMOTE_FUNCTION = new RegExp(`(?:^|[^\\w.])(?:_xlfn\\.)?(?:_xlws\\.)?(${REMOTE_NAMES})\\s*\\(`, 'i');
/**
 * A part without any of these has no refused formula: references to other workbooks have brackets, a path, or quoted
 * names. NUL indicates another encoding; comments can divide a name.
 */
export const SUSPICIOUS = new RegExp(`[|\\0\\\\[]|'!|&#|&apos;|<!|<\\?(?!xml\\s)|${REMOTE_NAMES}`, 'i');
/**
 * A text, which is skipped, or the prefix of a reference: quoted, or with a workbook in brackets. `[1]Sheet1!A1`,
 * `'[1]My sheet'!A1`, `[1]!name`, `'\\\\host\\[x.xlsx]S'!A1`, `'C:\\x.xlsx'!name`.
 */
const PREFIX = /"(?:[^"]|"")*"|(?<!\|)'((?:[^']|'')*)'!|(?<![\w.\]\p{L}])(\[[^[\]'"]+\][\p{L}\p{N}_.\\:]*)!/gu;
/** Characters that a sheet name cannot contain. */
const NO_SHEET = /[[\]\\/]/;

/**
 * The formulas of a part that reach outside of the workbook, with their cells.
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
        for (const text of collectFormulas(token))
          problems.push(...collectProblems(text, buildPlace(sheet, cell), links, unreported));
      } else if (token.kind === 'text' && formula !== undefined) formula += token.text;
      else if (token.kind === 'close') {
        if (token.local === 'c') cell = undefined;
        if (!FORMULAS.has(token.local) || formula === undefined) continue;
        problems.push(...collectProblems(formula, buildPlace(sheet, cell), links, unreported));
        formula = undefined;
      }
    }
  }
  return problems;
}

/** For VML, which may not be well-formed XML: cells of form controls, areas of camera pictures. */
const VML_FORMULA = /<(?:\w+:)?Fmla\w+>([^<]*)</gi;

/** Finds the refused formulas of a VML drawing. */
export const findVmlFormulas = (
  text: string,
  sheet: string | undefined,
  links: readonly ExternalLink[],
  unreported: Set<number>,
): readonly TemplateProblem[] =>
  [...text.matchAll(VML_FORMULA)].flatMap(([, formula = '']) =>
    collectProblems(formula.replaceAll('&apos;', "'"), buildPlace(sheet, undefined), links, unreported),
  );

const buildPlace = (sheet: string | undefined, cell: string | undefined): TemplateProblem['at'] =>
  sheet === undefined ? undefined : { sheet, ...(cell === undefined ? {} : { cell }) };

const collectFormulas = ({ local, attributes }: XmlOpen): readonly string[] =>
  Object.entries(attributes)
    .filter(([name]) => FORMULA_ATTRIBUTES.has(name) || (local === 'cfvo' && name === 'val'))
    .map(([, value]) => value);

function collectProblems(
  formula: string,
  at: TemplateProblem['at'],
  links: readonly ExternalLink[],
  unreported: Set<number>,
): readonly TemplateProblem[] {
  const problems: TemplateProblem[] = [];
  for (const [, quoted, bracketed] of formula.matchAll(PREFIX)) {
    const prefix = quoted?.replaceAll("''", "'") ?? bracketed;
    if (prefix === undefined || !NO_SHEET.test(prefix)) continue;
    const [, digits] = /^\[(\d+)\]/.exec(prefix) ?? [];
    if (digits === undefined) problems.push(linkProblem(`a link to ${clipText(toFilePath(prefix))}`, at));
    const link = links.find(({ number }) => number === Number(digits));
    // A link that several formulas use is reported once, at the first.
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

/** `\\\\host\\[x.xlsx]S` → `\\\\host\\x.xlsx`. */
const toFilePath = (prefix: string): string => prefix.replace(/\].*$/s, '').replaceAll('[', '');

/** A formula without texts, quoted sheet names, and table columns. */
function withoutTexts(formula: string): string {
  let plain = formula.replace(/"(?:[^"]|"")*"|'(?:[^']|'')*'/g, '');
  for (let before = ''; before !== plain; ) {
    before = plain;
    plain = plain.replace(/\[[^[\]]*\]/g, '');
  }
  return plain;
}
