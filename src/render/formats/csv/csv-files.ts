import { DocketError } from '../../../base/error.ts';
import { spansText } from '../../../definitions/commentary/comment-text.ts';
import type { ComparisonKind } from '../../../definitions/schema/comparison.ts';
import { type Dataset, isTextTable, type Table, type TableReading, type Value } from '../../../fetch/dataset.ts';
import { messagesFor } from '../../../i18n/messages.ts';
import { formatZonedInstant } from '../../figures/format-date.ts';
import { UNDEFINED_TEXT } from '../../figures/format-value.ts';
import { parseIsoInstant } from '../../figures/quantity.ts';
import { renderFileName, sectionFileStem } from '../../file-names.ts';
import { blockLines } from '../../pack/review/block-lines.ts';
import { packComments } from '../../pack/review/comments.ts';
import type { PackComment } from '../../pack/review/review.ts';
import { type FormatContext, type PlannedFile, writeChunks } from '../format.ts';
import { fieldText, rawText, recordWriter } from './csv-fields.ts';
import type { CsvOutput } from './csv-schema.ts';
import {
  byteOrderMark,
  type CsvColumn,
  type CsvSettings,
  csvColumns,
  csvLocale,
  csvSettings,
  type SchemaField,
  totalsColumns,
  withUniqueHeaders,
  writeCsv,
  writeTotalsCsv,
} from './section-csv.ts';
import { statusColumns, withJudgedFigures } from './status-fields.ts';
import { csvDialect, type TableSchema, tableSchema } from './table-schema.ts';
import { MAX_ZIP_BYTES, writeZip } from './zip.ts';

/** The default name of the zip. The names of a section's files also have the section's id. */
const DEFAULT_NAME_TEMPLATE = '{{ title }} {{ period.label }}';
/** The longest suffix of a section's files. Their common stem leaves space for it. */
const LONGEST_SUFFIX = '.totals.schema.json';
const LONGEST_COMMENTS_SUFFIX = '.comments.schema.json';
/** Used in place of a section in the template for names. */
const COMMENTS = { id: 'comments', title: 'comments' };

const csvFile = (name: string, label: string, write: PlannedFile['write']): PlannedFile => ({
  name,
  format: 'csv',
  mediaType: 'text/csv; charset=utf-8',
  label,
  write,
});

const schemaFile = (name: string, described: PlannedFile, write: PlannedFile['write']): PlannedFile => ({
  name,
  format: 'schema',
  mediaType: 'application/json',
  part: { of: 'csv', role: 'companion' },
  label: `the schema of ${described.label}`,
  write,
});

/** The files of a section: its rows, the service's totals if there are any, and a Table Schema for each. */
function sectionFiles(dataset: Dataset, table: Table, output: CsvOutput, context: FormatContext): PlannedFile[] {
  const { variables, locale, signal } = context;
  const settings = csvSettings(output.csv, locale);
  const stem = sectionFileStem(output.name, variables, table, {
    added: ` ${table.id}`,
    extension: '.csv',
    longestSuffix: LONGEST_SUFFIX,
  });
  // Computed once for all four files, when the first is written, because formatted columns need a scan of all rows.
  let computed: readonly CsvColumn[] | undefined;
  const columns = (): readonly CsvColumn[] => {
    computed ??= withUniqueHeaders([
      ...withJudgedFigures(csvColumns(table, settings), dataset, table, settings),
      ...readingColumns(table, settings),
      ...statusColumns(dataset, table, settings),
    ]);
    return computed;
  };
  const totals = () => totalsColumns(columns());
  const tableSchemaFile = (name: string, described: PlannedFile, columnsOf: () => readonly CsvColumn[]) =>
    schemaFile(name, described, (path) => {
      const schema = tableSchema(dataset, table, columnsOf(), settings);
      return writeChunks(path, [`${JSON.stringify(schema, null, 2)}\n`], signal);
    });
  const data = csvFile(`${stem}.csv`, `the CSV file of section "${table.id}"`, (path) =>
    writeCsv(path, table, columns(), settings, signal),
  );
  const files = [data, tableSchemaFile(`${stem}.schema.json`, data, columns)];
  if (table.totals === undefined) return files;
  const totalsFile = csvFile(`${stem}.totals.csv`, `the totals of section "${table.id}"`, (path) =>
    writeTotalsCsv(path, totals(), settings, signal),
  );
  return [...files, totalsFile, tableSchemaFile(`${stem}.totals.schema.json`, totalsFile, totals)];
}

/**
 * The file of people's comments and its Table Schema; empty without comments. Its suffix differs from those of all
 * sections' files.
 */
function commentFiles(dataset: Dataset, output: CsvOutput, context: FormatContext): PlannedFile[] {
  if ((dataset.comments ?? []).length === 0) return [];
  const { variables, locale, signal } = context;
  const settings = csvSettings(output.csv, locale);
  const stem = sectionFileStem(output.name, variables, COMMENTS, {
    added: '',
    extension: '.csv',
    longestSuffix: LONGEST_COMMENTS_SUFFIX,
  });
  const data = csvFile(`${stem}.comments.csv`, 'the CSV file of comments', (path) =>
    writeChunks(path, [commentsCsv(dataset, settings)], signal),
  );
  return [
    data,
    schemaFile(`${stem}.comments.schema.json`, data, (path) =>
      writeChunks(path, [`${JSON.stringify(commentsSchema(settings), null, 2)}\n`], signal),
    ),
  ];
}

/** A text section has no file. */
export const csvFiles = (dataset: Dataset, output: CsvOutput, context: FormatContext): PlannedFile[] => [
  ...dataset.tables.flatMap((table) => (isTextTable(table) ? [] : sectionFiles(dataset, table, output, context))),
  ...commentFiles(dataset, output, context),
];

/** All CSV files and their schemas as one zip; undefined if there is only one CSV file. */
export function zipFile(
  files: readonly PlannedFile[],
  { variables, madeAt, signal }: FormatContext,
): PlannedFile | undefined {
  if (files.filter(({ format }) => format === 'csv').length < 2) return undefined;
  const names = new Set(files.map(({ name }) => name));
  return {
    name: renderFileName(DEFAULT_NAME_TEMPLATE, variables, '.zip'),
    format: 'zip',
    mediaType: 'application/zip',
    part: { of: 'csv', role: 'bundle' },
    label: 'the zip of the CSV files',
    write: async (path, earlier) => {
      const entries = earlier.filter(({ name }) => names.has(name));
      const bytes = entries.reduce((sum, file) => sum + file.bytes, 0);
      if (bytes > MAX_ZIP_BYTES) {
        throw new DocketError('render.failed', 'The CSV files are too large to attach as one zip.', {
          expected: `at most ${MAX_ZIP_BYTES} bytes together`,
          got: `${bytes} bytes in ${entries.length} files`,
          next: 'Deliver them to a directory, without attaching csv to an e-mail.',
        });
      }
      await writeZip(path, entries, madeAt, signal);
    },
  };
}

/** The columns of the file of comments, in order. */
const COMMENT_COLUMNS = ['section', 'sectionTitle', 'comment', 'author', 'at'] as const;
type CommentColumn = (typeof COMMENT_COLUMNS)[number];

const commentText = ({ blocks }: PackComment): string =>
  blockLines(blocks)
    .map(({ marker, spans }) => `${marker === '' ? '' : `${marker} `}${spansText(spans)}`)
    .join('\n');

/**
 * People's comments on a report as CSV, one row each: section id and title, text without emphasis, author, ISO instant
 * (UTC). Encoded and escaped like the files of sections. There must be at least one comment.
 */
function commentsCsv(dataset: Dataset, settings: CsvSettings): string {
  const locale = csvLocale(settings);
  const words = messagesFor(locale);
  const titles = new Map(dataset.tables.map(({ id, title }) => [id, title]));
  const write = recordWriter(settings.separator);
  const record = (fields: readonly (string | null)[]): string =>
    write(fields.map((text) => (text === null ? null : fieldText(text, settings))));
  const rows = packComments({ dataset, locale, words }).map((comment) => {
    const { section, author, at } = comment;
    const title = section === null ? null : (titles.get(section) ?? null);
    return record([section, title, commentText(comment), author, at]);
  });
  const header = record(COMMENT_COLUMNS.map((column) => words.review.csv[column].name));
  return `${byteOrderMark(settings)}${header}${rows.join('')}`;
}

/** The schema of the file of comments. */
function commentsSchema(settings: CsvSettings): TableSchema {
  const { csv } = messagesFor(csvLocale(settings)).review;
  const type = (column: CommentColumn): SchemaField['type'] => (column === 'at' ? 'datetime' : 'string');
  return {
    $schema: 'https://datapackage.org/profiles/2.0/tableschema.json',
    title: csv.title,
    dialect: csvDialect(settings),
    fields: COMMENT_COLUMNS.map((column) => {
      const { name, description } = csv[column];
      return { name, title: name, type: type(column), description: `${description}.` };
    }),
    missingValues: [''],
  };
}

/**
 * For readings of current counts: when the figures of each row and of the totals were read. One column is for the
 * figures, and one for each comparison. A gap has an empty field.
 */
function readingColumns(table: Table, settings: CsvSettings): CsvColumn[] {
  const { readings, granularity, comparisons, period } = table;
  if (readings === undefined) return [];
  const formatted = settings.values === 'formatted';
  const raw = rawText((text) => fieldText(text, settings));
  const locale = csvLocale(settings);
  const words = messagesFor(locale).table.schema;
  const text = (asOf: string | null | undefined): string | null => {
    if (!formatted) return raw(asOf ?? null);
    const at = parseIsoInstant(asOf ?? null);
    return at === undefined ? UNDEFINED_TEXT : formatZonedInstant(at, period.timezone, locale);
  };
  return [undefined, ...comparisons.map(({ kind }) => kind)].map((kind: ComparisonKind | undefined): CsvColumn => {
    const own = readings.filter(({ comparison }) => comparison === (kind ?? null));
    const find = (of: TableReading['of'], bucket: Value) =>
      own.find((reading) => reading.of === of && reading.bucket === bucket)?.asOf;
    const byBucket = new Map(own.filter(({ of }) => of === 'rows').map(({ bucket, asOf }) => [bucket, text(asOf)]));
    const header = words.readAt(kind);
    return {
      header,
      view: null,
      described: {
        name: header,
        title: header,
        type: formatted ? 'string' : 'datetime',
        ...(kind === undefined ? {} : { comparison: kind }),
        description: `${words.readAtMeans(kind, formatted ? `“${UNDEFINED_TEXT}”` : words.emptyField)}.`,
      },
      field: ({ values }) => {
        const bucket = granularity === null ? null : values.bucket;
        return (typeof bucket === 'string' || bucket === null ? byBucket.get(bucket) : undefined) ?? text(null);
      },
      total: text(find('totals', null)),
    };
  });
}
