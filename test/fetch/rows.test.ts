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

test('rows are read from their file as they were written, any number of times', async () => {
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

test('a character that spans two chunks of the file is read correctly', async () => {
  // With three bytes per character, some character spans the end of any chunk.
  const records = Array.from({ length: 400 }, (_, id) => ({ id, a: '€'.repeat(1000 + (id % 3)) }));
  const rows = await keep([records]);
  expect([...iterateRows(rows)].map(({ values }) => values.a)).toEqual(records.map(({ a }) => a));
});

test('the file is closed when a reader stops early', async () => {
  const rows = await keep([[{ id: 1 }, { id: 2 }]]);
  for (let times = 0; times < 5_000; times += 1) expect(someRow(rows, ({ values }) => values.id === 1)).toBe(true);
});

test('batches contain the same rows, yield after each batch, and close the file when a reader stops early', async () => {
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

test('a second attempt replaces the file of the first', async () => {
  await keep([[{ id: 1 }, { id: 2 }]]);
  const rows = await keep([[{ id: 3 }]]);
  expect([...iterateRows(rows)].map(({ values }) => values.id)).toEqual([3]);
});
