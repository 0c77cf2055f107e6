import { formatCell, parseCell } from '../../workbook/addresses.ts';
import type { ReferenceMap } from '../growth.ts';
import { rewriteXml, tokensOf, type XmlPart } from './rewrite-xml.ts';

const COMMENTS = new Set(['comment', 'threadedComment']);

/** The cells of a part with comments, of either kind. */
export function commentedCells(part: XmlPart): string[] {
  const cells: string[] = [];
  for (const token of tokensOf(part)) {
    if (token.kind === 'open' && COMMENTS.has(token.local) && token.attributes.ref) cells.push(token.attributes.ref);
  }
  return cells;
}

/**
 * Where the comments of a sheet go: each with its cell. Null for one whose cell is taken by another that moves there, as a
 * totals row does when its table becomes shorter: a cell has one comment.
 * @param cells All commented cells of the sheet.
 */
export function moveComments(
  cells: Iterable<string>,
  sheet: string,
  map: ReferenceMap,
): ReadonlyMap<string, string | null> {
  const moved = new Map<string, string | null>();
  for (const ref of cells) {
    const cell = parseCell(ref);
    if (cell !== undefined) moved.set(ref, formatCell(map.cell(sheet, cell)));
  }
  const taken = new Set([...moved].filter(([from, to]) => from !== to).map(([, to]) => to));
  for (const ref of moved.keys()) if (moved.get(ref) === ref && taken.has(ref)) moved.set(ref, null);
  return moved;
}

/** A part with comments, or with threaded ones. */
export const mapComments = (part: XmlPart, moved: ReadonlyMap<string, string | null>): string | undefined =>
  rewriteXml(tokensOf(part), {
    element: ({ local, attributes }) =>
      COMMENTS.has(local) && moved.get(attributes.ref ?? '') === null ? () => '' : undefined,
    attributes: ({ local, attributes }) => {
      const ref = COMMENTS.has(local) ? moved.get(attributes.ref ?? '') : undefined;
      return ref ? { ref } : undefined;
    },
  });
