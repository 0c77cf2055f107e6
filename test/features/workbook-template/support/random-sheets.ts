import fc from 'fast-check';
import { Table as ExcelTable, Formula, TableColumn, Workbook, type Worksheet } from 'wasm-xlsxwriter';
import type { Dataset } from '../../../../src/fetch/dataset.ts';
import { countColumn, dataset, groupColumn, row, strangeColumn, table } from '../../../support/dataset.ts';

/** A sheet with tables side by side and stacked, and formulas about them on this and another sheet. */
export interface RandomSheet {
  readonly bands: readonly RandomBand[];
  readonly formulas: readonly RandomFormula[];
}

interface RandomBand {
  /** The number of sample rows, and of empty rows above the header. */
  readonly sample: number;
  readonly gap: number;
  readonly tables: readonly { readonly rows: number; readonly totals: boolean; readonly calculated: boolean }[];
}

interface RandomFormula {
  readonly kind: (typeof KINDS)[number];
  /** The index of a table, modulo the number of tables. */
  readonly of: number;
  readonly other: number;
  readonly place: 'top' | 'below' | 'front';
}

const KINDS = ['sum', 'relative', 'structured', 'both', 'span', 'first', 'product', 'match', 'rows', 'column'] as const;

const band: fc.Arbitrary<RandomBand> = fc.record({
  sample: fc.integer({ min: 1, max: 5 }),
  gap: fc.integer({ min: 0, max: 3 }),
  tables: fc.array(
    fc.record({ rows: fc.integer({ min: 0, max: 12 }), totals: fc.boolean(), calculated: fc.boolean() }),
    {
      minLength: 1,
      maxLength: 2,
    },
  ),
});

export const randomSheet: fc.Arbitrary<RandomSheet> = fc.record({
  bands: fc
    .array(band, { minLength: 1, maxLength: 2 })
    .filter((bands) => bands.reduce((sum, { tables }) => sum + tables.length, 0) >= 2),
  formulas: fc.array(
    fc.record({
      kind: fc.constantFrom(...KINDS),
      of: fc.nat({ max: 3 }),
      other: fc.nat({ max: 3 }),
      place: fc.constantFrom('top', 'below', 'front'),
    }),
    { minLength: 3, maxLength: 10 },
  ),
});

const HEADERS = ['Group', 'Profiles created', 'Exposure'];
const id = (index: number) => `part_${index + 1}`;
const figure = (section: number, index: number) => [
  `Group ${index + 1}`,
  (index * 53 + section * 17) % 500,
  ((index * 29 + section) % 200) + 0.5,
];

/** The figures of the sections of this sheet. */
export const figuresOfSheet = ({ bands }: RandomSheet): Dataset =>
  dataset(
    bands
      .flatMap(({ tables }) => tables)
      .map(({ rows }, section) =>
        table({
          id: id(section),
          columns: [groupColumn, countColumn, strangeColumn],
          rows: Array.from({ length: rows }, (_, index) => {
            const [group = null, created = null, exposure = null] = figure(section, index);
            return row({ 'profile.group': group, 'profiles.created': created, 'risk.exposure': exposure });
          }),
        }),
      ),
  );

/** Where a table is at a size. Rows count from 1. */
interface Placed {
  readonly first: number;
  readonly last: number;
  /** The last row of the table's area: a table that shrinks does not move it. */
  readonly end: number;
  readonly column: number;
}

/** The sheet with its sample rows, or the expected sheet with its figures. */
export function buildSheet(sheet: RandomSheet, size: 'template' | 'filled'): Uint8Array {
  const book = new Workbook();
  const board = book.addWorksheet().setName('Board');
  const front = book.addWorksheet().setName('Front');
  const placed: Placed[] = [];
  let [next, section] = [16, 0];
  for (const { sample, gap, tables } of sheet.bands) {
    const rows = size === 'template' ? sample : Math.max(1, ...tables.map(({ rows: own }) => own));
    const slots = Math.max(sample, rows);
    const head = next + gap;
    for (const [at, { rows: own, totals, calculated }] of tables.entries()) {
      const placing = { first: head + 1, last: head + rows, end: head + slots, column: 2 + at * 6 };
      const count = size === 'template' ? sample : own;
      const data = Array.from({ length: count }, (_, index) =>
        size === 'template' ? [`Sample ${index}`, 9000 + index, 0.25] : figure(section, index),
      );
      writeTable(board, id(section), placing, data, { totals, calculated });
      placed.push(placing);
      section += 1;
    }
    next = head + slots + (tables.some(({ totals }) => totals) ? 1 : 0) + 2;
  }
  const counts = { top: 0, below: 0, front: 0 };
  for (const { kind, of, other, place } of sheet.formulas) {
    const [index, second] = [of % placed.length, other % placed.length];
    const text = formula(kind, index, placed[index] as Placed, placed[second] as Placed);
    const at = counts[place];
    counts[place] += 1;
    if (place === 'front') front.write(at, 0, new Formula(text.replaceAll('@', 'Board!')));
    else board.write((place === 'top' ? 1 : next) + at, 1, new Formula(text.replaceAll('@', '')));
  }
  return book.saveToBufferSync();
}

function writeTable(
  board: Worksheet,
  name: string,
  { first, last, column }: Placed,
  data: readonly (readonly (string | number | undefined)[])[],
  { totals, calculated }: { totals: boolean; calculated: boolean },
): void {
  const own = calculated ? ['Double', 'Share'] : [];
  const columns = [...HEADERS, ...own].map((header) => new TableColumn().setHeader(header));
  const made = new ExcelTable().setName(name).setColumns(columns).setTotalRow(totals);
  board.addTable(first - 2, column - 1, last - 1 + (totals ? 1 : 0), column - 2 + columns.length, made);
  for (const [index, values] of data.entries())
    for (const [at, value] of values.entries())
      if (value !== undefined) board.write(first - 1 + index, column - 1 + at, value);
  const created = letter(column + 1);
  // Rows that only the neighbour table needs stay empty, without formulas.
  for (let row = first; calculated && row < first + Math.max(1, data.length); row += 1) {
    board.write(row - 1, column + 2, new Formula(`=${created}${row}*2`));
    const all = `$${created}$${first}:$${created}$${last}`;
    board.write(row - 1, column + 3, new Formula(`=IF(SUM(${all})=0,0,${created}${row}/SUM(${all}))`));
  }
  if (totals) {
    board.write(last, column - 1, 'Total');
    board.write(last, column, new Formula(`=SUBTOTAL(109,${created}${first}:${created}${last})`));
  }
}

/** Builds a formula. `@` stands for the sheet name if the formula is on another sheet. */
function formula(kind: RandomFormula['kind'], section: number, of: Placed, other: Placed): string {
  const [created, exposure] = [letter(of.column + 1), letter(of.column + 2)];
  const range = (column: string, { first, last }: Pick<Placed, 'first' | 'last'>, mark = '$') =>
    `@${mark}${column}${mark}${first}:${mark}${column}${mark}${last}`;
  // If a range ends outside of the table's columns, it keeps its end when the table shrinks.
  const below = other.column === of.column ? other : of;
  switch (kind) {
    case 'sum':
      return `=SUM(${range(created, of)})`;
    case 'relative':
      return `=AVERAGE(${range(created, of, '')},1)`;
    case 'structured':
      return `=SUM(${id(section)}[Exposure])`;
    case 'both':
      return `=SUM(${range(created, of)})-SUM(${range(letter(other.column + 1), other)})`;
    case 'span':
      return `=COUNT(${range(created, { first: Math.min(of.first, below.first), last: Math.max(of.last, below.last) }, '')})`;
    case 'first':
      return `=N(@${created}${of.first})+1`;
    case 'product':
      return `=SUMPRODUCT((${range(created, of)}>9)*(${range(exposure, of)}))`;
    case 'match':
      return `=IFERROR(INDEX(${range(letter(of.column), of)},MATCH(MAX(${range(created, of)}),${range(created, of)},0)),"none")`;
    case 'rows':
      return `=ROWS(@$${of.first}:$${of.end})`;
    default:
      return `=COUNT(@${exposure}:${exposure})`;
  }
}

const letter = (column: number) => String.fromCharCode(64 + column);
