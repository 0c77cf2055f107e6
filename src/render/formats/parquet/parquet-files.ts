import { readFileSync, writeFileSync } from 'node:fs';
import { type ColumnSource, fileWriter, ParquetWriter } from 'hyparquet-writer';
import type { Dataset, Row, Value } from '../../../fetch/dataset.ts';
import { iterateRows } from '../../../fetch/rows.ts';
import type { DataColumn, DataType } from '../data-columns.ts';
import { type DataOutput, type DataPart, dataDescription, dataFiles } from '../data-files.ts';
import type { FormatContext, PlannedFile } from '../format.ts';

/** How many rows are in memory at once. */
const ROW_GROUP = 10_000;

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;
const TYPES: Readonly<Record<DataType, Omit<SchemaElement, 'name'>>> = {
  string: TEXT,
  any: TEXT,
  integer: { type: 'INT64' },
  number: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  date: { type: 'INT32', converted_type: 'DATE' },
};

/** Converts a value for the writer. Values of mixed types become text. */
function parquetValue(value: Value, type: DataType): bigint | number | boolean | string | Date | null {
  if (value === null) return null;
  if (type === 'integer') return BigInt(value);
  if (type === 'date') return new Date(`${value}T00:00:00Z`);
  return type === 'number' || type === 'boolean' ? value : String(value);
}

const columnData = (columns: readonly DataColumn[], read: (column: DataColumn) => readonly Value[]): ColumnSource[] =>
  columns.map((column) => ({
    name: column.name,
    data: read(column).map((value) => parquetValue(value, column.type)),
  }));

function writeParquet(
  path: string,
  columns: readonly DataColumn[],
  { table, totals, about }: DataPart & { readonly about: ReturnType<typeof dataDescription> },
  signal: AbortSignal,
): void {
  const writer = fileWriter(path);
  const parquet = new ParquetWriter({
    writer,
    schema: [
      { name: 'root', num_children: columns.length },
      ...columns.map(({ name, type }) => ({ ...TYPES[type], name, repetition_type: 'OPTIONAL' as const })),
    ],
    kvMetadata: [{ key: 'docket', value: JSON.stringify(about) }],
    createdBy: 'docket',
  });
  const write = (rows: readonly Row[]): void => {
    signal.throwIfAborted();
    const data = columnData(columns, ({ read }) => rows.map(read));
    parquet.write({ columnData: data, rowGroupSize: ROW_GROUP });
  };
  if (totals === undefined) {
    let group: Row[] = [];
    for (const row of iterateRows(table.rows)) {
      if (group.push(row) < ROW_GROUP) continue;
      write(group);
      group = [];
    }
    if (group.length > 0) write(group);
  } else {
    parquet.write({ columnData: columnData(columns, ({ total }) => [total ?? null]) });
  }
  parquet.finish();
  if (parquet.num_rows === 0n) correctEmptyFile(path);
}

/**
 * Corrects an empty file: hyparquet-writer 0.17 writes an empty list of row groups without its type, and other readers
 * refuse that. In the Thrift compact protocol: `num_rows` 0, then field 4, a list with type 0 instead of 12 (struct),
 * then the list of metadata.
 */
function correctEmptyFile(path: string): void {
  const bytes = readFileSync(path);
  const at = bytes.lastIndexOf(Buffer.from([0x16, 0x00, 0x19, 0x00, 0x19, 0x1c]));
  if (at === -1) return;
  bytes[at + 3] = 0x0c;
  writeFileSync(path, bytes);
}

/** Plans the Parquet files, https://parquet.apache.org/docs/file-format/. */
export const parquetFiles = (dataset: Dataset, output: DataOutput, context: FormatContext): readonly PlannedFile[] =>
  dataFiles(
    dataset,
    output,
    context,
    { extension: '.parquet', longestSuffix: '.totals.parquet' },
    (part, stem, columns) => [
      {
        name: `${stem}.parquet`,
        format: 'parquet',
        mediaType: 'application/vnd.apache.parquet',
        label: `${part.totals === undefined ? 'the Parquet file' : 'the totals in Parquet'} of section "${part.table.id}"`,
        write: async (path) => {
          const about = dataDescription(dataset, part, columns(), context);
          writeParquet(path, columns(), { ...part, about }, context.signal);
        },
      },
    ],
  );
