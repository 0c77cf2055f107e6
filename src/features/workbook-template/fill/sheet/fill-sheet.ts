import { createSheetMapper } from '../../growth/map-sheet.ts';
import type { TemplatePackage } from '../../package/template-package.ts';
import { tokenizeXmlStream } from '../../package/tokenize-xml.ts';
import type { XmlOpen } from '../../package/xml-tokens.ts';
import type { ColumnStyle } from './cell-styles.ts';
import { createRowWriter, type RowWriter } from './row-writer.ts';
import type { Growth, SheetScan } from './scan-sheet.ts';
import type { SheetFill } from './sheet-fill.ts';
import { createSheetReader, type SheetPiece } from './sheet-reader.ts';

/** Size of the pieces, in characters. */
const CHUNK_CHARACTERS = 64 * 1024;

/**
 * Yields the filled part of a sheet in pieces: tables get their rows, names their values, and references follow the
 * growth. Memory use does not depend on the number of rows. Unchanged content stays as in the template, byte for byte.
 */
export async function* fillSheet(
  template: TemplatePackage,
  fill: SheetFill,
  scan: SheetScan,
  growth: Growth & { readonly date1904: boolean },
): AsyncIterable<string> {
  const { sheet } = fill;
  const pieces = createPieceWriter(fill, scan, growth);
  const reader = createSheetReader(`${template.file}:${sheet.name}`);
  let chunk = '';
  try {
    for await (const tokens of tokenizeXmlStream(await template.openPart(sheet.part), sheet.part)) {
      for (const piece of reader.read(tokens)) {
        for (const xml of pieces.write(piece)) {
          chunk += xml;
          if (chunk.length < CHUNK_CHARACTERS) continue;
          yield chunk;
          chunk = '';
        }
      }
    }
    if (chunk !== '') yield chunk;
  } finally {
    pieces.close();
  }
}

interface PieceWriter {
  write(piece: SheetPiece): Iterable<string>;
  close(): void;
}

function createPieceWriter(
  fill: SheetFill,
  scan: SheetScan,
  growth: Growth & { readonly date1904: boolean },
): PieceWriter {
  const { plan, map, date1904 } = growth;
  const mapper = createSheetMapper(fill.sheet.name, plan, map);
  const columnStyles: ColumnStyle[] = [];
  let data: { readonly start: XmlOpen; readonly rows: RowWriter } | undefined;
  let lastRow = 0;

  /** Rows before `end` that get values but are missing in the template. */
  function* missingRows(rows: RowWriter, end: number): Iterable<string> {
    for (let next = rows.nextNeeded(lastRow); next !== undefined && next < end; next = rows.nextNeeded(next)) {
      yield* rows.write(next, undefined);
    }
  }

  function* startOfData(start: XmlOpen, raw: string): Iterable<string> {
    const prefix = start.name.slice(0, start.name.length - start.local.length);
    const rows = createRowWriter(fill, scan, map, { format: { prefix, date1904 }, columnStyles });
    data = { start, rows };
    // An empty `<sheetData/>` becomes an open tag if rows follow.
    yield start.selfClosing && rows.nextNeeded(0) !== undefined ? raw.replace(/\s*\/>$/, '>') : raw;
  }

  function* endOfData(raw: string): Iterable<string> {
    if (data === undefined) return;
    yield* missingRows(data.rows, Number.POSITIVE_INFINITY);
    yield data.start.selfClosing && data.rows.nextNeeded(0) !== undefined ? `</${data.start.name}>` : raw;
  }

  return {
    *write(piece) {
      if (piece.kind === 'row') {
        if (data === undefined) return;
        yield* missingRows(data.rows, piece.row.row);
        lastRow = piece.row.row;
        yield* data.rows.write(lastRow, piece.row);
        return;
      }
      if (piece.kind === 'between') {
        yield piece.token.raw;
        return;
      }
      const { token } = piece;
      const xml = map.changes ? [...mapper.map([token])].join('') : token.raw;
      if (token.kind === 'open' && token.local === 'col') columnStyles.push(...parseColumnStyle(token));
      if (piece.data === 'start' && token.kind === 'open') yield* startOfData(token, xml);
      else if (piece.data === 'end') yield* endOfData(xml);
      else yield xml;
    },
    close: () => data?.rows.close(),
  };
}

/** The style of empty cells of some columns. */
function parseColumnStyle({ attributes }: XmlOpen): ColumnStyle[] {
  const { min, max, style } = attributes;
  return style === undefined ? [] : [{ from: Number(min), to: Number(max), style }];
}
