import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../../base/sha256.ts';
import { archiveCorrupt } from '../../deliver/archive/archive-errors.ts';
import { parseMetadata } from '../../deliver/archive/run-folder/run-metadata.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import type { Dataset, RowFile, Table } from '../../fetch/dataset.ts';
import type { ConditionResults } from '../delivery-conditions.ts';
import {
  conditionsSchema,
  type FrozenSplit,
  freezeSplit,
  frozenSplitSchema,
  type SplitFigures,
  thawSplit,
} from '../split/frozen-split.ts';
import type { RenderFile } from './frozen-templates.ts';
import { figuresFile, type Reviews } from './load-review.ts';
import { type OpenReview, openReviewSchema, toRunOrder } from './open-review.ts';
import type { ReviewInputs } from './review-inputs.ts';

/** Everything besides the figures from which a run's files are made. */
export interface FrozenInputs extends OpenReview {
  /** The version of Docket that froze the figures: another version may render other files. */
  readonly docket: string;
  /** Epoch ms. All files show it as their time of creation. */
  readonly madeAt: number;
  readonly conditions: ConditionResults;
  readonly split?: FrozenSplit | undefined;
}

export interface Frozen extends Omit<FrozenInputs, 'split'> {
  readonly dataset: Dataset;
  /** In a report with `split`: the figures of its packs. `dataset` then has none. */
  readonly split?: SplitFigures | undefined;
  readonly review: ReviewInputs;
  readonly files: readonly RenderFile[];
}

const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/);
const fileListSchema = z.object({
  version: z.literal(1),
  files: z.array(z.object({ name: z.string(), sha256: sha256Schema })),
});

const inputsSchema = z.intersection(
  z.object({
    docket: z.string(),
    madeAt: z.number(),
    conditions: conditionsSchema,
    /**
     * Templates, logo and files that outputs name, by path in the rendering folder, with the name of the stored file.
     */
    renderFiles: z.array(z.object({ path: z.string(), name: z.string() })),
    /** In a report with `split`: its packs. */
    split: frozenSplitSchema.optional(),
  }),
  openReviewSchema,
);

const LIST = 'files.json';

/**
 * Stores figures with everything frozen, under `figures/<sha256>/`. The folder is named after the hash of `files.json`,
 * which lists the hash of each file and is written last. Storing the same content again changes nothing.
 *
 * @param folder receives the rows of the packs' lists as files
 * @returns the SHA-256 (hex)
 */
export async function storeFigures(reviews: Reviews, run: RunRef, frozen: Frozen, folder?: string): Promise<string> {
  const { dataset, review, files, docket, madeAt, conditions, order, definition, settings } = frozen;
  const split = frozen.split && freezeSplit(frozen.split);
  // The folder's name is known only once every file is. Parts of lists are hashed first, and stored in a second pass.
  const hashes = new Map<string, string>();
  const hash = async (name: string, bytes: string | Uint8Array): Promise<void> => {
    hashes.set(name, sha256(bytes));
  };
  const renderFiles = files.map(({ path }, index) => ({ path, name: `render/${String(index).padStart(4, '0')}` }));
  const packs = split === undefined ? {} : { split };
  const inputs = { docket, madeAt, conditions, renderFiles, ...packs, order: toRunOrder(order), definition, settings };
  const write = async (put: (name: string, bytes: string | Uint8Array) => Promise<void>): Promise<void> => {
    await put('dataset.json', JSON.stringify(await storeRows(dataset, put)));
    for (const [index, pack] of (frozen.split?.packs ?? []).entries()) {
      const place = split?.packs[index]?.folder;
      const own = await pack.dataset?.(folder);
      if (place === undefined || own === undefined) continue;
      const stored = await storeRows(own, (name, bytes) => put(`${place}/${name}`, bytes));
      await put(`${place}/dataset.json`, JSON.stringify(stored));
    }
    await put('inputs.json', JSON.stringify(inputs));
    await put('review.json', JSON.stringify(review));
    for (const [index, { bytes }] of files.entries()) await put(renderFiles[index]?.name ?? '', bytes);
  };
  await write(hash);
  const list = JSON.stringify({
    version: 1,
    files: [...hashes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, of]) => ({ name, sha256: of })),
  } satisfies z.input<typeof fileListSchema>);
  const figures = sha256(list);
  await write((name, bytes) => reviews.put(run, figuresFile(figures, name), bytes));
  await reviews.put(run, figuresFile(figures, LIST), list);
  return figures;
}

/** Reads the files of stored figures, and compares each with its hash. */
export interface FiguresReader {
  readonly inputs: FrozenInputs;
  /** @param folder receives the rows of lists as files. Undefined: lists have no rows */
  dataset(folder?: string): Promise<Dataset>;
  /** The packs of a report with `split`; undefined for other reports. */
  split(): Promise<SplitFigures | undefined>;
  /** Templates, logo and files that outputs name. */
  files(): Promise<readonly RenderFile[]>;
}

/** Opens stored figures. Throws `archive.corrupt` for a missing or changed file. */
export async function openFigures(reviews: Reviews, run: RunRef, figures: string): Promise<FiguresReader> {
  const location = `the review of run ${run.id}`;
  const get = async (name: string, expected: string | undefined): Promise<Buffer> => {
    const bytes = await reviews.get(run, figuresFile(figures, name));
    if (bytes === undefined) throw archiveCorrupt(location, `${figuresFile(figures, name)} is missing`);
    if (expected === undefined || sha256(bytes) !== expected)
      throw archiveCorrupt(location, `${figuresFile(figures, name)} has changed`);
    return bytes;
  };
  const list = parseMetadata(location, LIST, await get(LIST, figures), fileListSchema);
  const hashes = new Map(list.files.map(({ name, sha256: hash }) => [name, hash]));
  const read = (name: string): Promise<Buffer> => get(name, hashes.get(name));
  const { renderFiles, ...inputs } = parseMetadata(location, 'inputs.json', await read('inputs.json'), inputsSchema);
  const readDataset = async (place: string, folder: string | undefined): Promise<Dataset> => {
    const stored = parseMetadata(location, 'dataset.json', await read(`${place}dataset.json`), storedDatasetSchema);
    return loadRows(stored, (name) => read(`${place}${name}`), folder);
  };
  return {
    inputs,
    dataset: (folder) => readDataset('', folder),
    split: async () =>
      inputs.split &&
      thawSplit(inputs.split, await readDataset('', undefined), (stored, folder) => readDataset(`${stored}/`, folder)),
    files: async () => {
      const files: RenderFile[] = [];
      for (const { path, name } of renderFiles) files.push({ path, bytes: await read(name) });
      return files;
    },
  };
}

/** Size of a stored part of a list: lists may be larger than memory. */
const PART_BYTES = 8 * 1024 * 1024;

/** Stored parts of rows, in place of a file with all rows. */
const storedRowsSchema = z.object({
  parts: z.array(z.string().regex(/^rows\/[0-9]{4}-[0-9]{5}$/)),
  length: z.int().nonnegative(),
  columns: z.array(z.string()),
});
type StoredRows = z.infer<typeof storedRowsSchema>;

const storedTableSchema = z.looseObject({ id: z.string(), rows: z.union([z.array(z.unknown()), storedRowsSchema]) });
/** A dataset as `storeRows` wrote it. Checks only what loading needs. */
export const storedDatasetSchema = z.looseObject({ org: z.string(), tables: z.array(storedTableSchema) });
type StoredDataset = z.infer<typeof storedDatasetSchema>;

const isRowFile = (rows: Table['rows']): rows is RowFile => 'path' in rows;

/**
 * Converts a dataset for JSON: rows in files become parts, which `put` stores one after the other.
 *
 * @param put stores a part under its name
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
 * Restores a dataset with its rows.
 *
 * @param get reads a part by its name
 * @param folder receives the rows of lists as files. Undefined: lists have no rows, for readers that need none
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

/** The dataset was checked when it was parsed, and now has its rows. */
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
