import type { CellObject } from '@e965/xlsx';
import { expect } from 'vitest';
import { cellsOf, readWorkbook, type SheetTable, tableOn } from '../read-files.ts';
import { checkNotes } from './check-notes.ts';
import {
  type Checked,
  escaped,
  figureOf,
  judgementOf,
  namesKind,
  noteUnit,
  OF,
  type PackToCheck,
  shapeOf,
  TO_DATE,
  type UnitsShown,
} from './checked.ts';
import type { Compared } from './days.ts';
import { changeIn, type ExpectedSection, type Figure, fewCases, isFewChange } from './expected.ts';
import type { Judged } from './judged.ts';
import { factorOf } from './shown.ts';

const UNIT = String.raw`(?: \((?<unit>[^()]+)\))?`;
const BUCKETS = { day: 'Day', week: 'Week starting', month: 'Month' } as const;

type Reader = (figure: Figure) => number | null;
interface Column {
  readonly header: RegExp;
  /** The role of a number in a cell. A `change` has its own unit. */
  readonly role: 'value' | 'other' | 'change' | 'to_date';
  readonly metric: string;
  readonly kind?: Compared;
  readonly read: Reader;
}

/** The columns of a metric with their headers in the workbook. */
function columnsOf(section: ExpectedSection, metric: string, label: string): Column[] {
  const name = escaped(label);
  const { kinds, toDate } = section;
  return [
    { header: new RegExp(`^${name}${UNIT}$`), role: 'value', metric, read: ({ now }) => now },
    ...kinds.flatMap((kind): Column[] => [
      {
        header: new RegExp(`^${name}${UNIT}, ${OF[kind]}$`),
        role: 'other',
        metric,
        kind,
        read: ({ others }) => others[kind]?.value ?? null,
      },
      {
        header: new RegExp(`^${name}, change${namesKind(section) ? ` \\(${OF[kind]}\\)` : ''}${UNIT}$`),
        role: 'change',
        metric,
        kind,
        read: (figure) => changeIn(figure, kind),
      },
    ]),
    ...(toDate === undefined
      ? []
      : [
          {
            header: new RegExp(`^${name}${UNIT}, ${TO_DATE[toDate]}$`),
            role: 'to_date' as const,
            metric,
            read: (figure: Figure) => figure.toDate,
          },
        ]),
  ];
}

const serialDay = (serial: unknown): string =>
  typeof serial === 'number' ? new Date((serial - 25_569) * 86_400_000).toISOString().slice(0, 10) : String(serial);

function expectCell(cell: CellObject | undefined, expected: number | null, factor: number, where: string): void {
  if (expected === null) expect(cell?.v, where).toBe('–');
  else {
    expect(cell?.t, `${where}: ${cell?.v} for ${expected}`).toBe('n');
    const value = Number(cell?.v) * factor;
    const near = Math.abs(value - expected) <= 1e-9 * Math.max(1, Math.abs(expected));
    expect(near, `${where}: ${value} for ${expected}`).toBe(true);
  }
}

/** Checks a change. With few cases it is a difference in the unit of the figures, never a percentage. */
function expectChange(
  cell: CellObject | undefined,
  expected: number | null,
  figure: Figure,
  kind: Compared | undefined,
  factor: number,
  where: string,
): void {
  const few = kind !== undefined && isFewChange(figure, kind);
  expectCell(cell, expected, few && figure.unit === 'seconds' ? factor : 1, where);
  if (expected === null || expected === 0 || figure.unit === 'ratio') return;
  expect(String(cell?.z).includes('%'), `${where}: ${cell?.z}`).toBe(!few);
}

/** Checks that the number of cases is in the format of a cell with few cases, and of no other. */
function expectCases(
  cell: CellObject | undefined,
  { role, kind }: Column,
  { now, cases, toDate, toDateCases, others, unit }: Figure,
  checked: Checked,
  where: string,
): void {
  const other = kind === undefined ? undefined : others[kind];
  const few =
    role === 'change'
      ? undefined
      : role === 'value'
        ? fewCases(unit, now, cases)
        : role === 'to_date'
          ? fewCases(unit, toDate, toDateCases)
          : fewCases(unit, other?.value ?? null, other?.cases);
  const [, number] = /\(n = (\d+)\)/.exec(String(cell?.z)) ?? [];
  expect(number, `${where}: ${cell?.z}`).toBe(few === undefined ? undefined : `${few}`);
  if (few !== undefined) checked.few += 1;
}

/** Compares every cell of a section's sheet with the expected value. */
export function checkWorkbook(path: string, pack: PackToCheck, checked: Checked, units: UnitsShown): void {
  const book = readWorkbook(path);
  for (const section of pack.sections) {
    const lines = cellsOf(book, section.id.toUpperCase());
    const texts = lines.map((line) => String(line[0]?.v ?? ''));
    if (section.rows.length === 0) continue;
    const bucketed = section.granularity !== undefined;
    const transposed = section.rows.length === 1 && section.dimensions.length === 0 && (!section.totals || !bucketed);
    const table = tableOn(path, section.id.toUpperCase());
    if (transposed) checkTransposed(table, section, pack.judged, checked, units);
    else checkTable(table, section, pack, checked, units);
    checkNotes(texts, section, checked);
  }
}

function checkTable(
  { headers, rows: shownRows, below }: SheetTable,
  section: ExpectedSection,
  { judged, labelOf }: PackToCheck,
  checked: Checked,
  units: UnitsShown,
): void {
  const { granularity, dimensions, metrics, rows, total, id } = section;
  expect(shownRows, id).toHaveLength(rows.length);
  // The totals are below a narrow empty row.
  const totals = below[1] ?? [];
  let at = 0;
  const week = granularity === 'week' ? 1 : 0;
  if (granularity !== undefined) {
    expect(headers.slice(0, 1 + week)).toEqual([...(week === 1 ? ['ISO week'] : []), BUCKETS[granularity]]);
    at += 1 + week;
  }
  const labelsFrom = at;
  at += dimensions.length;
  const expectStatus = (cell: CellObject | undefined, one: Judged | undefined, where: string): void => {
    expect(cell?.v ?? '', where).toBe(one === undefined ? '' : shapeOf(one));
    if (one !== undefined) checked.statuses += 1;
  };
  for (const row of rows) {
    const line = shownRows[rows.indexOf(row)] ?? [];
    if (row.bucket !== null) expect(serialDay(line[week]?.v)).toBe(row.bucket);
    expect(line.slice(labelsFrom, at).map((cell) => cell?.v)).toEqual(
      row.groups.map((value, index) => labelOf(dimensions[index] ?? '', value)),
    );
  }
  if (total !== undefined)
    expect(String(totals[0]?.v)).toMatch(section.read && granularity !== undefined ? /^Last day/ : /^Total/);
  for (const { id: metric, label } of metrics) {
    let own = 1;
    for (const column of columnsOf(section, metric, label)) {
      const header = headers[at] ?? '';
      const match = column.header.exec(header);
      expect(match, `${id}: "${header}" for ${column.header}`).not.toBeNull();
      const unit = match?.groups?.unit;
      const factor = column.role === 'change' ? own : factorOf(unit);
      if (column.role !== 'change') noteUnit(units, metric, factor);
      if (column.role === 'value') own = factor;
      const values = [
        ...rows.map(
          (row, index) => [shownRows[index]?.[at], row.figures, row.bucket ?? JSON.stringify(row.groups)] as const,
        ),
        ...(total === undefined ? [] : [[totals[at], total, 'total'] as const]),
      ];
      for (const [cell, figures, which] of values) {
        const expected = column.read(figureOf(figures, metric));
        const where = `${id} ${which} "${header}"`;
        const figure = figureOf(figures, metric);
        if (column.role === 'change') expectChange(cell, expected, figure, column.kind, factor, where);
        else expectCell(cell, expected, factor, where);
        expectCases(cell, column, figure, checked, where);
        checked.cells += 1;
        if (column.role === 'change') checked.changes += expected === null ? 0 : 1;
        if (expected === null) checked.dashes += 1;
      }
      at += 1;
      // The status is beside the judged figure.
      if (column.role !== 'value' || !judged.some((one) => one.section === id && one.metric === metric)) continue;
      expect(headers[at]).toBe(`${label}: status`);
      for (const [index, row] of rows.entries())
        expectStatus(shownRows[index]?.[at], judgementOf(judged, section, metric, row), `${id} ${metric} row ${index}`);
      if (total !== undefined)
        expectStatus(totals[at], judgementOf(judged, section, metric, undefined), `${id} ${metric} total`);
      at += 1;
    }
  }
  expect(at, headers.join(' | ')).toBe(headers.length);
}

function checkTransposed(
  { headers, rows: lines }: SheetTable,
  section: ExpectedSection,
  judged: readonly Judged[],
  checked: Checked,
  units: UnitsShown,
): void {
  const { metrics, rows, total, id } = section;
  const [row] = rows;
  if (row === undefined) throw new Error('no row');
  expect(headers[0], id).toBe('Metric');
  expect(lines, id).toHaveLength(metrics.length);
  const hasStatus = headers.includes('Status');
  expect(hasStatus, id).toBe(judged.some((one) => one.section === id));
  for (const [index, { id: metric, label }] of metrics.entries()) {
    const line = lines[index] ?? [];
    const columns = columnsOf(section, metric, label);
    const match = columns[0]?.header.exec(String(line[0]?.v));
    expect(match, `${id} "${line[0]?.v}"`).not.toBeNull();
    const unit = match?.groups?.unit;
    noteUnit(units, metric, factorOf(unit));
    const shown = headers.length - 1 - (hasStatus ? 2 : 0);
    // Totals are shown beside the figures only if they differ.
    const sets = [row.figures, ...(shown > columns.length && total !== undefined ? [total] : [])];
    expect(shown, headers.join(' | ')).toBe(sets.length * columns.length);
    const one = judgementOf(judged, section, metric, undefined) ?? judgementOf(judged, section, metric, row);
    let at = 1;
    for (const [nth, figures] of sets.entries()) {
      for (const column of columns) {
        const expected = column.read(figureOf(figures, metric));
        const where = `${id} ${metric} "${headers[at]}"`;
        const figure = figureOf(figures, metric);
        if (column.role === 'change') expectChange(line[at], expected, figure, column.kind, factorOf(unit), where);
        else expectCell(line[at], expected, factorOf(unit), where);
        expectCases(line[at], column, figure, checked, where);
        checked.cells += 1;
        if (column.role === 'change') checked.changes += expected === null ? 0 : 1;
        if (expected === null) checked.dashes += 1;
        at += 1;
        // Target and status are beside the judged figure, which is the last one: the total if there is one.
        if (!hasStatus || column.role !== 'value' || nth !== sets.length - 1) continue;
        expect(headers.slice(at, at + 2)).toEqual(['Target', 'Status']);
        if (one === undefined) expect(line[at]?.v ?? '', `${id} ${metric} target`).toBe('');
        else expectCell(line[at], one.target.target, factorOf(unit), `${id} ${metric} target`);
        expect(line[at + 1]?.v ?? '', `${id} ${metric}`).toBe(one === undefined ? '' : shapeOf(one));
        if (one !== undefined) checked.statuses += 1;
        at += 2;
      }
    }
    expect(at, headers.join(' | ')).toBe(headers.length);
  }
}
