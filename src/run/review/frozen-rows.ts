import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Dataset, RowFile, Table } from '../../fetch/dataset.ts';

/** Bytes of a stored part of a list: lists may be larger than memory. */
const PART_BYTES = 8 * 1024 * 1024;

/** Rows in parts, in place of a file of rows. */
const storedRowsSchema = z.object({
  parts: z.array(z.string().regex(/^rows\/[0-9]{4}-[0-9]{5}$/)),
  length: z.int().nonnegative(),
  columns: z.array(z.string()),
});
type StoredRows = z.infer<typeof storedRowsSchema>;

const storedTableSchema = z.looseObject({ id: z.string(), rows: z.union([z.array(z.unknown()), storedRowsSchema]) });
/** The dataset as it was written by `storeRows`: only what loading needs is checked. */
export const storedDatasetSchema = z.looseObject({ org: z.string(), tables: z.array(storedTableSchema) });
export type StoredDataset = z.infer<typeof storedDatasetSchema>;

const isRowFile = (rows: Table['rows']): rows is RowFile => 'path' in rows;

/**
 * The dataset as JSON can hold it: rows in files become parts, which `put` stores one after the other.
 *
 * @param put stores a part by its name
 */
export async function storeRows(
  dataset: Dataset,
  put: (name: string, bytes: Uint8Array) => Promise<void>,
): Promise<unknown> {
  const tables: unknown[] = [];
  for (const [index, table] of dataset.tables.entries()) {
    const { rows } = table;
    tables.push(isRowFile(rows) ? { ...table, rows: await storeParts(rows, index, put) } : table);
  }
  return { ...dataset, tables };
}

async function storeParts(
  { path, length, columns }: RowFile,
  table: number,
  put: (name: string, bytes: Uint8Array) => Promise<void>,
): Promise<StoredRows> {
  const parts: string[] = [];
  const chunks: AsyncIterable<Uint8Array> = createReadStream(path, { highWaterMark: PART_BYTES });
  for await (const chunk of chunks) {
    const name = `rows/${String(table).padStart(4, '0')}-${String(parts.length).padStart(5, '0')}`;
    await put(name, chunk);
    parts.push(name);
  }
  return { parts, length, columns: [...columns] };
}

/**
 * The dataset with its rows.
 *
 * @param get reads a part by its name
 * @param folder gets the rows of lists as files; undefined: lists come without rows, for readers that need no list
 */
export async function loadRows(
  stored: StoredDataset,
  get: (name: string) => Promise<Uint8Array>,
  folder: string | undefined,
): Promise<Dataset> {
  const tables: unknown[] = [];
  for (const [index, table] of stored.tables.entries()) {
    const { rows } = table;
    if (Array.isArray(rows)) tables.push(table);
    else tables.push({ ...table, rows: folder === undefined ? [] : await loadParts(rows, index, get, folder) });
  }
  return datasetSchema.parse({ ...stored, tables });
}

/** What was checked when it was parsed, with its rows. */
const datasetSchema = z.custom<Dataset>(
  (value) => typeof value === 'object' && value !== null && 'tables' in value && Array.isArray(value.tables),
);

async function loadParts(
  { parts, length, columns }: StoredRows,
  table: number,
  get: (name: string) => Promise<Uint8Array>,
  folder: string,
): Promise<RowFile> {
  const path = join(folder, `frozen-${table}.ndjson`);
  const file = await open(path, 'w', 0o600);
  try {
    for (const part of parts) await file.appendFile(await get(part));
  } finally {
    await file.close();
  }
  return { path, length, columns };
}
