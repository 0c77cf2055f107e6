import type { XmlToken } from '../../package/xml-tokens.ts';
import { createRowReader, isRow, type SheetRow } from './sheet-rows.ts';

/** A piece of a worksheet part. Pieces come in the order of the part. */
export type SheetPiece =
  /** A token outside of `sheetData`, or its start or end. */
  | { readonly kind: 'around'; readonly token: XmlToken; readonly data?: 'start' | 'end' }
  /** A token between rows, or after the root element. It stays unchanged. */
  | { readonly kind: 'between'; readonly token: XmlToken }
  | { readonly kind: 'row'; readonly row: SheetRow };

export interface SheetReader {
  read(tokens: readonly XmlToken[]): Iterable<SheetPiece>;
}

/**
 * Groups the tokens of a worksheet part into rows.
 * @param where file and sheet, for errors
 */
export function createSheetReader(where: string): SheetReader {
  const rows = createRowReader(where);
  let depth = 0;
  let inData = false;
  let ended = false;
  return {
    *read(tokens) {
      for (const token of tokens) {
        if (inData && !(token.kind === 'close' && depth === 2)) {
          if (token.kind === 'open') depth += 1;
          if (token.kind === 'close') depth -= 1;
          const piece = rows.push(token);
          if (piece === null) continue;
          yield isRow(piece) ? { kind: 'row', row: piece } : { kind: 'between', token: piece };
          continue;
        }
        if (token.kind === 'open') {
          depth += 1;
          inData = depth === 2 && token.local === 'sheetData';
          yield inData ? { kind: 'around', token, data: 'start' } : { kind: 'around', token };
        } else if (token.kind === 'close') {
          depth -= 1;
          yield inData ? { kind: 'around', token, data: 'end' } : { kind: 'around', token };
          inData = false;
          ended = depth === 0;
        } else yield { kind: ended ? 'between' : 'around', token };
      }
    },
  };
}
