import { DocketError } from '../base/error.ts';
import { safeName } from '../base/path.ts';
import type { Output } from '../define/definition.ts';
import type { Dataset, Table } from '../fetch/dataset.ts';
import { type CsvColumn, type CsvSettings, csvColumns, totalsColumns, writeCsv, writeTotalsCsv } from './csv.ts';
import { tableSchema } from './csv-schema.ts';
import type { FileJob } from './file-job.ts';
import { type NameVariables, renderName } from './name.ts';
import { writePieces } from './write-file.ts';
import { MOST_BYTES, writeZip } from './zip.ts';

/** Of the zip; a section's file has the section's id behind it. */
const DEFAULT_NAME = '{{ title }} {{ period.label }}';
/** Every file of a section gets the stem that leaves room for the longest of their endings. */
const LONGEST_ENDING = '.totals.schema.json';

interface About {
  readonly variables: NameVariables;
  readonly locale?: string | undefined;
  readonly signal: AbortSignal;
}

/** A long title is cut before the section's id: that one tells the files apart. */
function stemOf(template: string | undefined, variables: NameVariables, { id, title }: Table): string {
  const name = renderName(template ?? DEFAULT_NAME, { ...variables, section: { id, title } }, '.csv');
  const ending = template === undefined ? ` ${id}${LONGEST_ENDING}` : LONGEST_ENDING;
  return safeName(name.slice(0, -'.csv'.length), ending).slice(0, -LONGEST_ENDING.length);
}

/** A section's files: its rows, its totals where the service has made some, and beside each what its columns are. */
function sectionJobs(dataset: Dataset, table: Table, output: Output & { format: 'csv' }, about: About): FileJob[] {
  const { variables, locale, signal } = about;
  const settings: CsvSettings = { ...output.csv, locale };
  const stem = stemOf(output.name, variables, table);
  // Once for all four, and not before the first of them is written: it reads all rows.
  let read: readonly CsvColumn[] | undefined;
  const columns = (): readonly CsvColumn[] => {
    read ??= csvColumns(table, settings);
    return read;
  };
  const ofTotals = () => totalsColumns(columns());
  const schemaOf = (name: string, of: string, described: () => readonly CsvColumn[]): FileJob => ({
    name,
    format: 'schema',
    of: `the schema of ${of}`,
    write: (path) => {
      const schema = tableSchema(dataset, table, described(), settings);
      return writePieces(path, [`${JSON.stringify(schema, null, 2)}\n`], signal);
    },
  });
  const data: FileJob = {
    name: `${stem}.csv`,
    format: 'csv',
    of: `the CSV file of section "${table.id}"`,
    write: (path) => writeCsv(path, table, columns(), settings, signal),
  };
  const rows = [data, schemaOf(`${stem}.schema.json`, data.of, columns)];
  if (table.totals === undefined) return rows;
  const totals: FileJob = {
    name: `${stem}.totals.csv`,
    format: 'csv',
    of: `the totals of section "${table.id}"`,
    write: (path) => writeTotalsCsv(path, ofTotals(), settings, signal),
  };
  return [...rows, totals, schemaOf(`${stem}.totals.schema.json`, totals.of, ofTotals)];
}

/** The files of a `csv` output. */
export const csvJobs = (dataset: Dataset, output: Output & { format: 'csv' }, about: About): FileJob[] =>
  dataset.tables.flatMap((table) => sectionJobs(dataset, table, output, about));

/** Several CSV files and their schemas as one file for e-mail; nothing where there is one CSV file at most. */
export function zipJobs(
  jobs: readonly FileJob[],
  { variables, signal }: About,
  /** Epoch ms: the day of what is in the zip. */
  madeAt: number,
): FileJob[] {
  if (jobs.filter(({ format }) => format === 'csv').length < 2) return [];
  const write: FileJob['write'] = async (path, made) => {
    const files = made.filter(({ format }) => format === 'csv' || format === 'schema');
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    if (bytes > MOST_BYTES) {
      throw new DocketError('render.failed', 'The CSV files are too large for one zip, as e-mail needs it.', {
        expected: `at most ${MOST_BYTES} bytes together`,
        got: `${bytes} bytes in ${files.length} files`,
        next: 'Deliver them to a directory, without attaching csv to an e-mail.',
      });
    }
    await writeZip(path, files, madeAt, signal);
  };
  return [{ name: renderName(DEFAULT_NAME, variables, '.zip'), format: 'zip', of: 'the zip of the CSV files', write }];
}
