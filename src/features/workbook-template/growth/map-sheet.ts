import { changeAttributes, escapeXmlText } from '../package/tokenize-xml.ts';
import type { XmlClose, XmlOpen, XmlToken } from '../package/xml-tokens.ts';
import { columnNumber } from '../workbook/addresses.ts';
import { parseFormula } from './formula-references.ts';
import { type GrowthPlan, insertedRows, type ReferenceMap, type RowBand } from './growth.ts';
import { createFillDown, type FormulaPlace, mapFormula } from './map-formula.ts';
import { joinRaw, joinText } from './parts/rewrite-xml.ts';
import { mapAreas, mapAttributes } from './sheet-references.ts';

/** Moves the references of a worksheet part outside of `sheetData`. */
export interface SheetMapper {
  /** Whether any token was changed. */
  readonly changed: boolean;
  /**
   * The new text for these tokens. Tokens must come in the order of the part, in any number of calls, without those
   * inside `sheetData`. An extension whose ranges come after their formulas is returned as a whole.
   */
  map(tokens: Iterable<XmlToken>): Iterable<string>;
}

/**
 * Elements that have `sqref` as an attribute in the main namespace, and as an element after the formulas in the
 * namespace of Excel 2010.
 */
const WITH_RANGES = new Set(['conditionalFormatting', 'dataValidation', 'sparkline']);
const FORMULAS = new Set(['formula', 'formula1', 'formula2', 'f']);

/** State of the element that is being read. */
interface Context {
  /** For conditional formats and validations. */
  place?: FormulaPlace | undefined;
  /** `body` for a validation against a list, and for the dates of sparklines: a cell is a table of one row. */
  single: 'cell' | 'body';
  anchor?: RowAnchor | undefined;
}

/** @param sheet The name of the sheet. */
export function createSheetMapper(sheet: string, plan: GrowthPlan, map: ReferenceMap): SheetMapper {
  const bands = plan.get(sheet) ?? [];
  let changed = false;
  /** Local names of the open elements. */
  const path: string[] = [];
  let context: Context = { single: 'cell' };
  /** Text tokens of the innermost element, if it contains a reference. */
  let text: XmlToken[] = [];
  let held: { readonly tokens: XmlToken[]; readonly depth: number } | null = null;

  const holdsReference = (): boolean => {
    const local = path.at(-1) ?? '';
    return FORMULAS.has(local) || local === 'sqref' || (local === 'row' && context.anchor !== undefined);
  };

  const mapText = (value: string): string => {
    const local = path.at(-1);
    if (local === 'sqref') return mapAreas(value, sheet, map);
    if (local !== 'row') return mapFormula(value, sheet, map, context.place, context.single);
    const corner = path.at(-2) === 'from' ? 'from' : 'to';
    return context.anchor === undefined ? value : String(context.anchor.row(corner, Number(value)));
  };

  const mapOpen = (token: XmlOpen): string => {
    const { local, attributes } = token;
    if (WITH_RANGES.has(local)) {
      context = {
        place: attributes.sqref === undefined ? context.place : findPlace(attributes.sqref, bands),
        single: attributes.type === 'list' ? 'body' : 'cell',
      };
    } else if (local === 'sparklineGroup') context = { single: 'body' };
    else if (local === 'anchor') context = { single: 'cell', anchor: createAnchor(token, sheet, map) };
    const changes = mapAttributes(token, path, sheet, map);
    path.push(local);
    if (changes === null) return token.raw;
    changed = true;
    return changeAttributes(token, changes);
  };

  const mapClose = (token: XmlClose): string => {
    const content = takeText();
    path.pop();
    if (WITH_RANGES.has(token.local) || token.local === 'sparklineGroup' || token.local === 'anchor') {
      context = { single: 'cell' };
    }
    return content + token.raw;
  };

  /** The collected text, with its references moved. */
  const takeText = (): string => {
    const value = joinText(text);
    const raw = joinRaw(text);
    const mapped = value === '' || !holdsReference() ? value : mapText(value);
    text = [];
    if (mapped === value) return raw;
    changed = true;
    return escapeXmlText(mapped);
  };

  const mapToken = (token: XmlToken): string => {
    if (token.kind === 'close') return mapClose(token);
    if (token.kind === 'open') return takeText() + mapOpen(token);
    text.push(token);
    return '';
  };

  function* mapHeld(tokens: readonly XmlToken[]): Iterable<string> {
    const [open] = tokens;
    const ranges = textWithin(tokens, 'sqref');
    if (open?.kind !== 'open' || open.local !== 'sparkline') {
      context = { ...context, place: findPlace(ranges, bands) };
      for (const token of tokens) yield mapToken(token);
      return;
    }
    const data = textWithin(tokens, 'f');
    for (const sparkline of mapSparkline({ data, cell: ranges }, sheet, bands, map)) {
      const same = sparkline.data === data && sparkline.cell === ranges;
      changed ||= !same;
      yield same ? joinRaw(tokens) : withTexts(tokens, { f: sparkline.data, sqref: sparkline.cell });
    }
  }

  /** Depth of the next token's element. */
  let depth = 0;
  return {
    get changed() {
      return changed;
    },
    *map(tokens) {
      for (const token of tokens) {
        if (token.kind === 'close') depth -= 1;
        if (
          held === null &&
          token.kind === 'open' &&
          WITH_RANGES.has(token.local) &&
          token.attributes.sqref === undefined
        ) {
          held = { tokens: [], depth };
          yield takeText();
        }
        if (token.kind === 'open') depth += 1;
        if (held === null) {
          yield mapToken(token);
          continue;
        }
        held.tokens.push(token);
        if (token.kind !== 'close' || depth > held.depth) continue;
        const whole = held.tokens;
        held = null;
        yield* mapHeld(whole);
      }
    },
  };
}

/** The text of the first element with this name. */
function textWithin(tokens: readonly XmlToken[], local: string): string {
  const start = tokens.findIndex((token) => token.kind === 'open' && token.local === local);
  const end = tokens.findIndex((token, index) => index > start && token.kind === 'close' && token.local === local);
  return start < 0 ? '' : joinText(tokens.slice(start, end));
}

/** The tokens with new texts of these elements, which must contain only text. */
function withTexts(tokens: readonly XmlToken[], texts: Readonly<Record<string, string>>): string {
  let within: string | undefined;
  return tokens
    .map((token) => {
      if (token.kind === 'text') return within === undefined ? token.raw : '';
      if (token.kind === 'other') return token.raw;
      within = token.kind === 'open' && token.local in texts ? token.local : undefined;
      return within === undefined ? token.raw : token.raw + escapeXmlText(texts[within] ?? '');
    })
    .join('');
}

/** Maps the rows of an anchor of a control or an embedded object (`from` comes before `to`). */
interface RowAnchor {
  /** The row of a corner in the filled workbook, counted from 0. */
  row(corner: 'from' | 'to', row: number): number;
}

/** @param open the `anchor`. With neither `moveWithCells` nor `sizeWithCells` it stays at its place on the page */
function createAnchor({ attributes }: XmlOpen, sheet: string, map: ReferenceMap): RowAnchor {
  const sizes = isTrue(attributes.sizeWithCells);
  const moves = sizes || isTrue(attributes.moveWithCells);
  let moved = 0;
  return {
    row: (corner, row) => {
      if (!moves) return row;
      if (corner === 'to' && !sizes) return row + moved;
      const mapped = map.row(sheet, row + 1) - 1;
      if (corner === 'from') moved = mapped - row;
      return mapped;
    },
  };
}

const isTrue = (value: string | undefined): boolean => value === '1' || value === 'true';

interface Sparkline {
  /** The range that the sparkline draws, e.g. `Board!B5:F5`. */
  readonly data: string;
  /** The cell that shows it. */
  readonly cell: string;
}

/** The sparklines in the filled workbook. One in the last row of a table's data gets a copy in each inserted row. */
function* mapSparkline(
  { data, cell }: Sparkline,
  sheet: string,
  bands: readonly RowBand[],
  map: ReferenceMap,
): Iterable<Sparkline> {
  const place = findPlace(cell, bands);
  const mapped = {
    // Beside its data, a sparkline draws its own row; above or below, it draws a column.
    data: mapFormula(data, sheet, map, { row: place.row, filled: false }, 'body'),
    cell: mapFormula(cell, sheet, map),
  };
  yield mapped;
  const band = place.filled ? bands.find(({ last }) => last === place.row) : undefined;
  if (band === undefined) return;
  const dataBelow = createFillDown(mapped.data);
  const cellBelow = createFillDown(mapped.cell);
  for (let rows = 1; rows <= insertedRows(band); rows += 1) {
    yield { data: dataBelow(rows, 0), cell: cellBelow(rows, 0) };
  }
}

/**
 * The place of formulas that are relative to the first cell of these ranges.
 * @param ranges `sqref`: ranges separated by spaces
 */
function findPlace(ranges: string, bands: readonly RowBand[]): { readonly row: number; readonly filled: boolean } {
  const [reference] = parseFormula(ranges.trim().split(/\s/, 1)[0] ?? '');
  if (reference === undefined || typeof reference === 'string') return { row: 1, filled: false };
  const row = reference.from.row?.number ?? 1;
  const column = columnNumber(reference.from.column?.letters ?? 'A');
  const filled = bands.some(
    ({ first, last, tables }) =>
      first <= row &&
      row <= last &&
      tables.some(({ fromColumn, toColumn }) => fromColumn <= column && column <= toColumn),
  );
  return { row, filled };
}
