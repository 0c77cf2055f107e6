import type { XmlOpen } from '../../package/xml-tokens.ts';
import type { TemplateWorkbook } from '../../workbook/workbook.ts';
import type { ReferenceMap } from '../growth.ts';
import { mapFormula } from '../map-formula.ts';
import { prefixOf, rawOf, rewriteXml, tokensOf, type XmlPart, type XmlRewriter } from './rewrite-xml.ts';

/** What precedes `calcPr` in a workbook (ECMA-376 part 1, §18.2.27). */
const BEFORE_CALCULATION = ['sheets', 'functionGroups', 'externalReferences', 'definedNames'];

/**
 * The workbook's own part: defined names, print areas and filters among them, follow growth, and Excel calculates all formulas
 * when it opens the file.
 * @param series Names (lower case) that stand for the points of a chart: a single cell is a table of one row.
 */
export function mapWorkbookPart(
  part: XmlPart,
  { sheets }: Pick<TemplateWorkbook, 'sheets'>,
  series: ReadonlySet<string>,
  map: ReferenceMap,
): string | undefined {
  const names: XmlRewriter = {
    text: (formula, { local, attributes }) => {
      if (local !== 'definedName') return undefined;
      const scope = sheets[Number(attributes.localSheetId ?? -1)]?.name ?? '';
      const single = series.has(attributes.name?.toLowerCase() ?? '') ? 'body' : 'cell';
      return mapFormula(formula, scope, map, undefined, single);
    },
  };
  const last = lastBeforeCalculation(part);
  return rewriteXml(tokensOf(part), {
    ...names,
    attributes: ({ local }, ancestors) =>
      local === 'calcPr' && ancestors.length === 1 ? { fullCalcOnLoad: '1' } : undefined,
    element: (element, ancestors) =>
      element.local === last && ancestors.length === 1
        ? (tokens) => (rewriteXml(tokens, names, ancestors) ?? rawOf(tokens)) + calculation(element)
        : undefined,
  });
}

const calculation = (sibling: XmlOpen): string => `<${prefixOf(sibling)}calcPr fullCalcOnLoad="1"/>`;

/** The element that `calcPr` has to follow; undefined if the workbook has one. */
function lastBeforeCalculation(part: XmlPart): string | undefined {
  let depth = 0;
  let last: string | undefined;
  for (const token of tokensOf(part)) {
    if (token.kind === 'open') {
      if (depth === 1 && token.local === 'calcPr') return undefined;
      if (depth === 1 && BEFORE_CALCULATION.includes(token.local)) last = token.local;
      depth += 1;
    } else if (token.kind === 'close') depth -= 1;
  }
  return last;
}
