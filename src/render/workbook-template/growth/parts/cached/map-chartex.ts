import type { XmlToken } from '../../../package/xml-tokens.ts';
import { mapFormula } from '../../map-formula.ts';
import { rewriteXml, textOf, tokensOf, type XmlPart } from '../rewrite-xml.ts';
import { type ChartSources, cachedPoints } from './chart-points.ts';
import type { ChartReference } from './map-chart.ts';
import { rewriteLevel } from './point-cache.ts';

/** What a newer chart (waterfall, tree map, histogram and others) reads: dimensions of its data, and texts of one cell. */
const DIMENSIONS = new Map<string, 'numbers' | 'texts'>([
  ['numDim', 'numbers'],
  ['strDim', 'texts'],
]);

/** The references whose points a chart remembers. Often they are hidden names (`_xlchart.v1.0`). */
export function chartexReferences(part: XmlPart): readonly ChartReference[] {
  const found: ChartReference[] = [];
  rewriteXml(tokensOf(part), {
    text: (formula, { local }, ancestors) => {
      if (local !== 'f') return undefined;
      const dimension = DIMENSIONS.has(ancestors.at(-1)?.local ?? '');
      found.push({ formula, single: dimension ? 'body' : 'cell' });
      return undefined;
    },
  });
  return found;
}

export const mapChartex = (part: XmlPart, sources: ChartSources): string | undefined =>
  rewriteXml(tokensOf(part), {
    element: ({ local }, ancestors) => {
      const kind = DIMENSIONS.get(local);
      if (kind === undefined && local !== 'txData') return undefined;
      const single = kind === undefined ? 'cell' : 'body';
      return (tokens) => {
        const points = cachedPoints(formulaOf(tokens), single, sources);
        let levels = 0;
        return rewriteXml(
          tokens,
          {
            text: (text, element) =>
              element.local === 'f' ? mapFormula(text, '', sources.map, undefined, single) : undefined,
            element: (element) => {
              if (element.local === 'v' && points !== 'keep') return () => '';
              if (element.local !== 'lvl' || kind === undefined) return undefined;
              levels += 1;
              return rewriteLevel(kind, points, levels === 1);
            },
          },
          ancestors,
        );
      };
    },
  });

function formulaOf(tokens: readonly XmlToken[]): string {
  const start = tokens.findIndex((token) => token.kind === 'open' && token.local === 'f');
  if (start < 0) return '';
  const end = tokens.findIndex((token, place) => place > start && token.kind === 'close');
  return textOf(tokens.slice(start, end)).trim();
}
