import { escapeXmlText } from '../../package/tokenize-xml.ts';
import { formatCell, parseCell } from '../../workbook/addresses.ts';
import type { ReferenceMap } from '../growth.ts';
import { mapFormula } from '../map-formula.ts';

/** Elements with the cells that a form control reads or writes. For a list, a single cell is a table of one row. */
const FORMULAS = ['FmlaLink', 'FmlaRange', 'FmlaPict', 'FmlaTxbx', 'FmlaGroup'];

/**
 * Updates a legacy drawing (VML): the boxes of comments and form controls. Excel itself writes VML that is not
 * well-formed XML (`<br>` without an end tag), so it is processed as text.
 * @param comments where the comments of the sheet move (`moveComments`)
 */
export function mapVml(
  vml: string,
  sheet: string,
  comments: ReadonlyMap<string, string | null>,
  map: ReferenceMap,
): string | undefined {
  const out: string[] = [];
  let done = 0;
  for (const { from, to } of clientData(vml)) {
    const data = vml.slice(from, to);
    const cell = data.includes('"Note"') ? noteCell(data) : undefined;
    const moved = cell === undefined ? undefined : comments.get(cell);
    if (moved === null) {
      const shape = findShape(vml, from, to);
      if (shape === undefined || shape.from < done) continue;
      out.push(vml.slice(done, shape.from));
      done = shape.to;
      continue;
    }
    const mapped = cell === undefined ? mapControl(data, sheet, map) : moveNote(data, cell, moved ?? cell);
    out.push(vml.slice(done, from), mapped);
    done = to;
  }
  out.push(vml.slice(done));
  const result = out.join('');
  return result === vml ? undefined : result;
}

/** Excel's own data of each shape: the positions of `<x:ClientData>…</x:ClientData>`. */
function* clientData(vml: string): Iterable<{ readonly from: number; readonly to: number }> {
  const opening = /<([\w-]+:)?ClientData\b/g;
  for (let match = opening.exec(vml); match !== null; match = opening.exec(vml)) {
    const close = `</${match[1] ?? ''}ClientData>`;
    const end = vml.indexOf(close, match.index);
    if (end < 0) return;
    yield { from: match.index, to: end + close.length };
    opening.lastIndex = end;
  }
}

/** The shape around Excel's own data. */
function findShape(vml: string, from: number, to: number): { readonly from: number; readonly to: number } | undefined {
  const start = vml.lastIndexOf('<', vml.lastIndexOf('shape ', from));
  const [, name] = /^<((?:[\w-]+:)?shape) /.exec(vml.slice(Math.max(0, start), from)) ?? [];
  const end = name === undefined ? -1 : vml.indexOf(`</${name}>`, to);
  return name === undefined || end < 0 ? undefined : { from: start, to: end + name.length + 3 };
}

function noteCell(data: string): string | undefined {
  const row = textIn(data, 'Row');
  const column = textIn(data, 'Column');
  if (row === undefined || column === undefined || !/^\d+$/.test(row) || !/^\d+$/.test(column)) return undefined;
  return formatCell({ row: Number(row) + 1, column: Number(column) + 1 });
}

/** Moves the box of a comment as far as its cell, whatever its properties say, because it is shown beside the cell. */
function moveNote(data: string, from: string, to: string): string {
  const rows = (parseCell(to)?.row ?? 0) - (parseCell(from)?.row ?? 0);
  if (rows === 0) return data;
  const moved = replaceText(data, 'Row', (row) => String(Number(row) + rows));
  return replaceText(moved, 'Anchor', (anchor) => moveAnchor(anchor, (row) => row + rows));
}

/** In VML, `MoveWithCells` and `SizeWithCells` mean the opposite of their names. */
function mapControl(data: string, sheet: string, map: ReferenceMap): string {
  let mapped = data;
  if (!isTrue(data, 'MoveWithCells')) {
    const keepsSize = isTrue(data, 'SizeWithCells');
    mapped = replaceText(mapped, 'Anchor', (anchor) =>
      moveAnchor(anchor, (row, top) =>
        keepsSize ? row + map.row(sheet, top + 1) - (top + 1) : map.row(sheet, row + 1) - 1,
      ),
    );
  }
  for (const name of FORMULAS) {
    mapped = replaceText(mapped, name, (text) =>
      escapeXmlText(mapFormula(decodeEntities(text), sheet, map, undefined, name === 'FmlaRange' ? 'body' : 'cell')),
    );
  }
  return mapped;
}

/** `column, offset, row, offset` of the upper left and of the lower right corner; rows from 0. */
function moveAnchor(anchor: string, move: (row: number, top: number) => number): string {
  const numbers = anchor.split(',').map((text) => Number(text.trim()));
  const [top, bottom] = [numbers[2], numbers[6]];
  if (numbers.length !== 8 || numbers.some(Number.isNaN) || top === undefined || bottom === undefined) return anchor;
  const [newTop, newBottom] = [move(top, top), move(bottom, top)];
  return newTop === top && newBottom === bottom
    ? anchor
    : numbers.map((number, place) => (place === 2 ? newTop : place === 6 ? newBottom : number)).join(', ');
}

const element = (name: string): RegExp => new RegExp(`(<(?:[\\w-]+:)?${name}>)([^<]*)(</)`);

const textIn = (data: string, name: string): string | undefined => element(name).exec(data)?.[2]?.trim();

const replaceText = (data: string, name: string, replace: (value: string) => string): string =>
  data.replace(element(name), (_, open: string, value: string, close: string) => `${open}${replace(value)}${close}`);

/** An empty element means true. */
function isTrue(data: string, name: string): boolean {
  const match = new RegExp(`<(?:[\\w-]+:)?${name}\\s*(?:/>|>([^<]*)<)`).exec(data);
  return match !== null && !/^f/i.test(match[1]?.trim() ?? '');
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const decodeEntities = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|apos);/g, (entity, name: string) => ENTITIES[name] ?? entity);
