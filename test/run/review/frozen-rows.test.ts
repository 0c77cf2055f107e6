import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sha256 } from '../../../src/base/sha256.ts';
import type { Dataset } from '../../../src/fetch/dataset.ts';
import { iterateRows, writeRows } from '../../../src/fetch/rows.ts';
import { loadRows, storedDatasetSchema, storeRows } from '../../../src/run/review/frozen-figures.ts';

test('the rows of a list are stored in parts and restored as a file with the same bytes', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'docket-rows-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'list.ndjson');
  const writer = await writeRows(path);
  // More than one part of 8 MiB: a character of several bytes crosses the boundary.
  const records = Array.from({ length: 3_000 }, (_, id) => ({ id, name: 'é€😀'.repeat(400) }));
  await writer.append(records);
  const rows = await writer.end(['id', 'name']);
  const dataset = {
    org: 'acme',
    tables: [
      { id: 'text', rows: [] },
      { id: 'profiles', rows },
    ],
  } as unknown as Dataset;

  const stored = new Map<string, Uint8Array>();
  const json = JSON.stringify(await storeRows(dataset, async (name, bytes) => void stored.set(name, bytes)));
  expect([...stored.keys()]).toEqual(['rows/0001-00000', 'rows/0001-00001']);
  const parsed = storedDatasetSchema.parse(JSON.parse(json));
  const get = async (name: string) => stored.get(name) ?? new Uint8Array();

  const loaded = (await loadRows(parsed, get, folder)).tables[1]?.rows;
  if (loaded === undefined || !('path' in loaded)) throw new Error('no file');
  expect({ ...loaded, path }).toEqual(rows);
  expect(loaded.path).not.toBe(path);
  expect(sha256(await readFile(loaded.path))).toBe(sha256(await readFile(path)));
  expect([...iterateRows(loaded)].at(-1)?.values).toEqual({ id: 2999, name: records.at(-1)?.name });
  expect((await loadRows(parsed, get, undefined)).tables[1]?.rows).toEqual([]);
});
