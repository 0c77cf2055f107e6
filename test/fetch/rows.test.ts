import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Row, Value } from '../../src/fetch/dataset.ts';
import { firstRows, iterateRows, rowBatches, someRow, writeRows } from '../../src/fetch/rows.ts';
import { cases } from '../support/fuzz.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-rows-'));
});
afterEach(() => rm(folder, { recursive: true }));

const COLUMNS = ['id', 'a', 'b'];
const value = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
  fc.boolean(),
  fc.constant(null),
);
const record: fc.Arbitrary<Record<string, Value>> = fc.dictionary(fc.constantFrom(...COLUMNS, 'other'), value);

const keep = async (pages: readonly Record<string, Value>[][], path = join(folder, 'rows.ndjson')) => {
  const file = await writeRows(path);
  for (const page of pages) await file.append(page);
  return file.end(COLUMNS);
};

test('rows come back from their file as they went in, as often as they are read', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(record, { maxLength: 5 }), { maxLength: 5 }), async (pages) => {
      const rows = await keep(pages);
      const expected = pages.flat().map((each) => ({
        values: Object.fromEntries(COLUMNS.map((name) => [name, each[name] ?? null])),
        partial: false,
      }));
      expect(rows.length).toBe(expected.length);
      expect([...iterateRows(rows)]).toEqual(expected);
      expect([...iterateRows(rows)]).toEqual(expected);
      expect(firstRows(rows, 2)).toEqual(expected.slice(0, 2));
    }),
    cases(50),
  );
});

test('a character that begins in one piece of the file and ends in the next stays whole', async () => {
  // Three bytes a character: whatever a piece's length, some character lies across its end.
  const records = Array.from({ length: 400 }, (_, id) => ({ id, a: '€'.repeat(1000 + (id % 3)) }));
  const rows = await keep([records]);
  expect([...iterateRows(rows)].map(({ values }) => values.a)).toEqual(records.map(({ a }) => a));
});

test('a reader that stops early closes the file', async () => {
  const rows = await keep([[{ id: 1 }, { id: 2 }]]);
  for (let times = 0; times < 5_000; times += 1) expect(someRow(rows, ({ values }) => values.id === 1)).toBe(true);
});

test('rows in batches are the same rows, with a turn after each, and a reader that stops early closes the file', async () => {
  const records = Array.from({ length: 600 }, (_, id) => ({ id }));
  const rows = await keep([records]);
  let turns = 0;
  const turn = async () => {
    turns += 1;
  };
  const batches: Row[][] = [];
  for await (const batch of rowBatches(rows, turn)) batches.push([...batch]);
  expect(batches.flat()).toEqual([...iterateRows(rows)]);
  expect(batches.length).toBeGreaterThan(1);
  expect(turns).toBe(batches.length);
  for await (const batch of rowBatches([])) expect.fail(`${batch.length} rows of none`);
  const first = async () => {
    for await (const [row] of rowBatches(rows, turn)) return row?.values.id;
  };
  for (let times = 0; times < 2_000; times += 1) expect(await first()).toBe(0);
});

test('a try that replaces an earlier one writes its file again', async () => {
  await keep([[{ id: 1 }, { id: 2 }]]);
  const rows = await keep([[{ id: 3 }]]);
  expect([...iterateRows(rows)].map(({ values }) => values.id)).toEqual([3]);
});
