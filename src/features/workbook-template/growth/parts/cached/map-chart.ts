import type { XmlOpen, XmlToken } from '../../../package/xml-tokens.ts';
import { mapFormula } from '../../map-formula.ts';
import { joinText, rewriteXml, tokenizePart, type XmlPart } from '../rewrite-xml.ts';
import { type ChartSources, cachedPoints } from './chart-points.ts';
import { type CacheKind, rewriteCache } from './point-cache.ts';

/** References of a chart and the caches of their cells, by the names of their elements. */
const REFERENCES = new Map<string, { readonly cache: string; readonly kind: CacheKind }>([
  ['numRef', { cache: 'numCache', kind: 'numbers' }],
  ['strRef', { cache: 'strCache', kind: 'texts' }],
  ['multiLvlStrRef', { cache: 'multiLvlStrCache', kind: 'levels' }],
  ['datalabelsRange', { cache: 'dlblRangeCache', kind: 'texts' }],
  ['dlblFTEntry', { cache: 'dlblFieldTableCache', kind: 'texts' }],
]);

/** `sqref` is the range that a filtered series shows, or would show without the filter. */
const FORMULAS = new Set(['f', 'sqref']);

export interface ChartReference {
  readonly formula: string;
  /** How to treat a single cell: as a cell in titles and labels, as a table of one row in a series. */
  readonly single: 'cell' | 'body';
}

/** The references whose points a chart stores. */
export function chartReferences(part: XmlPart): readonly ChartReference[] {
  const found: ChartReference[] = [];
  rewriteXml(tokenizePart(part), {
    element: (element, ancestors) =>
      !REFERENCES.has(element.local)
        ? undefined
        : (tokens) => {
            const formula = extractFormula(tokens);
            if (formula !== undefined) found.push({ formula, single: singleIn(element, ancestors) });
            return undefined;
          },
  });
  return found;
}

/**
 * Updates a chart: the references of its series, categories, titles, error bars and labels, and the values it stores
 * for them.
 */
export const mapChart = (part: XmlPart, sources: ChartSources): string | undefined =>
  rewriteXml(tokenizePart(part), {
    element: (element, ancestors) => {
      const reference = REFERENCES.get(element.local);
      if (reference === undefined) return undefined;
      const single = singleIn(element, ancestors);
      return (tokens) => {
        const formula = extractFormula(tokens);
        const points = formula === undefined ? 'keep' : cachedPoints(formula, single, sources);
        return rewriteXml(
          tokens,
          {
            text: (text, { local }) =>
              FORMULAS.has(local) ? mapFormula(text, '', sources.map, undefined, single) : undefined,
            element: ({ local }) => (local === reference.cache ? rewriteCache(reference.kind, points) : undefined),
          },
          ancestors,
        );
      };
    },
  });

/** The formula of the reference, or of a series that a filter hides. */
function extractFormula(tokens: readonly XmlToken[]): string | undefined {
  const at = (local: string, parent?: string): string | undefined => {
    for (const [place, token] of tokens.entries()) {
      if (token.kind !== 'open' || token.local !== local) continue;
      const before = tokens[place - 1];
      if (parent !== undefined && !(before?.kind === 'open' && before.local === parent)) continue;
      const end = tokens.findIndex((other, later) => later > place && other.kind === 'close');
      return joinText(tokens.slice(place, end)).trim();
    }
    return undefined;
  };
  return at('f') ?? at('sqref', 'formulaRef');
}

const singleIn = ({ local }: XmlOpen, ancestors: readonly XmlOpen[]): 'cell' | 'body' =>
  local === 'dlblFTEntry' || ancestors.some((ancestor) => ancestor.local === 'tx') ? 'cell' : 'body';
