import type { Dataset } from '../../../fetch/dataset.ts';
import { iterateRows } from '../../../fetch/rows.ts';
import type { DataColumn } from '../data-columns.ts';
import { type DataOutput, type DataPart, dataDescription, dataFiles } from '../data-files.ts';
import { type FormatContext, type PlannedFile, writeChunks } from '../format.ts';

/** How many characters are written at once, so that a long list is never in memory as a whole. */
const CHUNK_LENGTH = 64 * 1024;

function* jsonLines({ table, totals }: DataPart, columns: readonly DataColumn[]): Iterable<string> {
  const line = (value: (column: DataColumn) => unknown): string =>
    `${JSON.stringify(Object.fromEntries(columns.map((column) => [column.name, value(column)])))}\n`;
  if (totals !== undefined) return yield line(({ total }) => total);
  let chunk = '';
  for (const row of iterateRows(table.rows)) {
    chunk += line(({ read }) => read(row));
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = '';
  }
  yield chunk;
}

/** Plans the JSON Lines files and their Table Schemas, https://datapackage.org/standard/table-schema/. */
export const jsonlFiles = (dataset: Dataset, output: DataOutput, context: FormatContext): readonly PlannedFile[] =>
  dataFiles(
    dataset,
    output,
    context,
    { extension: '.jsonl', longestSuffix: '.totals.jsonl.schema.json' },
    (part, stem, columns) => {
      const { signal } = context;
      const label = `${part.totals === undefined ? 'the JSON Lines' : 'the totals in JSON Lines'} of section "${part.table.id}"`;
      return [
        {
          name: `${stem}.jsonl`,
          format: 'jsonl',
          mediaType: 'application/jsonl',
          label,
          write: (path) => writeChunks(path, jsonLines(part, columns()), signal),
        },
        {
          name: `${stem}.jsonl.schema.json`,
          format: 'schema',
          mediaType: 'application/json',
          part: { of: 'jsonl', role: 'companion' },
          label: `the schema of ${label}`,
          write: (path) => {
            const schema = {
              $schema: 'https://datapackage.org/profiles/2.0/tableschema.json',
              ...dataDescription(dataset, part, columns(), context),
            };
            return writeChunks(path, [`${JSON.stringify(schema, null, 2)}\n`], signal);
          },
        },
      ];
    },
  );
