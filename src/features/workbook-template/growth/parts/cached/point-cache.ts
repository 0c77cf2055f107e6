import type { CellValue } from '../../../binding/bindings.ts';
import { changeAttributes, escapeXmlText } from '../../../package/tokenize-xml.ts';
import type { XmlToken } from '../../../package/xml-tokens.ts';
import { getPrefix, joinRaw, type RewriteElement } from '../rewrite-xml.ts';
import type { CachedPoints } from './chart-points.ts';

/** What a kind of cache stores. */
export type CacheKind = 'numbers' | 'texts' | 'levels';

/**
 * Replaces the cache of a chart's reference with the values of the filled workbook, in the template's number format.
 * Removes it if the values are unknown or of another kind; Excel then reads the cells.
 */
export function rewriteCache(kind: CacheKind, points: CachedPoints): RewriteElement {
  return (tokens) => {
    if (points === 'keep') return undefined;
    const [open] = tokens;
    if (points === 'drop' || open?.kind !== 'open' || open.selfClosing || !fits(kind, points.values)) return '';
    const prefix = getPrefix(open);
    const { values, columns } = points;
    const count = kind === 'levels' ? values.length / columns : values.length;
    const body =
      kind === 'levels'
        ? levels(values, columns)
            .map((level) => `<${prefix}lvl>${pointsXml(level, prefix)}</${prefix}lvl>`)
            .join('')
        : pointsXml(values, prefix);
    return [
      open.raw,
      extractChild(tokens, 'formatCode'),
      `<${prefix}ptCount val="${count}"/>${body}`,
      extractChild(tokens, 'extLst'),
      tokens.at(-1)?.raw,
    ].join('');
  };
}

/** Does the same for a level of a newer chart (`cx:lvl`), which has the number of its points in an attribute. */
export function rewriteLevel(kind: 'numbers' | 'texts', points: CachedPoints, first: boolean): RewriteElement {
  return (tokens) => {
    if (points === 'keep') return undefined;
    const [open] = tokens;
    if (points === 'drop' || open?.kind !== 'open' || open.selfClosing || !first) return '';
    if (points.columns > 1 || !fits(kind, points.values)) return '';
    const prefix = getPrefix(open);
    const body = points.values
      .map((value, place) =>
        value === null ? '' : `<${prefix}pt idx="${place}">${escapeXmlText(textOfValue(value))}</${prefix}pt>`,
      )
      .join('');
    return `${changeAttributes(open, { ptCount: String(points.values.length) })}${body}${tokens.at(-1)?.raw ?? ''}`;
  };
}

const fits = (kind: CacheKind, values: readonly CellValue[]): boolean =>
  kind === 'numbers'
    ? values.every((value) => typeof value !== 'string' && typeof value !== 'boolean')
    : values.every((value) => value === null || typeof value === 'string');

const textOfValue = (value: CellValue): string =>
  value === null ? '' : typeof value === 'object' ? String(value.serial) : String(value);

const pointsXml = (values: readonly CellValue[], prefix: string): string =>
  values
    .map((value, place) =>
      value === null
        ? ''
        : `<${prefix}pt idx="${place}"><${prefix}v>${escapeXmlText(textOfValue(value))}</${prefix}v></${prefix}pt>`,
    )
    .join('');

/** The values by column, innermost (last) column first. */
const levels = (values: readonly CellValue[], columns: number): CellValue[][] =>
  Array.from({ length: columns }, (_, level) => values.filter((_, place) => place % columns === columns - 1 - level));

/** The XML of an element's child with this name; empty if there is none. */
function extractChild(tokens: readonly XmlToken[], local: string): string {
  let depth = 0;
  let start = -1;
  for (const [place, token] of tokens.entries()) {
    if (token.kind === 'open') {
      if (depth === 1 && token.local === local) start = place;
      depth += 1;
    } else if (token.kind === 'close') {
      depth -= 1;
      if (depth === 1 && start >= 0) return joinRaw(tokens.slice(start, place + 1));
    }
  }
  return '';
}
