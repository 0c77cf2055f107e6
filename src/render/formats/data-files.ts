import { z } from 'zod';
import { sectionFileNameSchema, usesSection } from '../../definitions/schema/template-fields.ts';
import { type Dataset, isTextTable, type Table } from '../../fetch/dataset.ts';
import { sectionFileStem } from '../file-names.ts';
import { tableDescription } from '../table-notes.ts';
import { compressSchema } from './compress-schema.ts';
import { type DataColumn, dataColumns } from './data-columns.ts';
import type { Format, FormatContext, PlannedFile } from './format.ts';

/** The fields of an output with a typed data file for each section. */
export const dataOutputSchema = <F extends string>(format: F) =>
  z.strictObject({
    format: z.literal(format),
    name: sectionFileNameSchema
      .optional()
      .describe(`File name, one file a section, e.g. "{{ section.id }} {{ period.label }}.${format}".`),
    compress: compressSchema,
  });
export interface DataOutput {
  readonly name?: string | undefined;
}

/** Each section has a file of its own, so their names must differ. */
export const sectionNameDiagnostics: NonNullable<Format<DataOutput>['diagnostics']> = ({ name }, sections) =>
  name === undefined || sections.length < 2 || usesSection(name)
    ? []
    : [
        {
          path: ['name'],
          expected: 'a name of its own for the file of each section',
          next: 'put {{ section.id }} into the name',
        },
      ];

/** The rows of a section, or its totals as one row. */
export interface DataPart {
  readonly table: Table;
  /** Absent: the rows. */
  readonly totals?: true;
}

/**
 * Plans a file with the rows of each section that has columns, and one with the service's totals if there are any: a
 * sum over a column would count them twice. Text sections have no file.
 */
export const dataFiles = (
  dataset: Dataset,
  { name }: DataOutput,
  context: FormatContext,
  { extension, longestSuffix }: { readonly extension: `.${string}`; readonly longestSuffix: string },
  files: (part: DataPart, stem: string, columns: () => readonly DataColumn[]) => readonly PlannedFile[],
): readonly PlannedFile[] =>
  dataset.tables.flatMap((table) => {
    if (isTextTable(table)) return [];
    const stem = sectionFileStem(name, context.variables, table, { added: ` ${table.id}`, extension, longestSuffix });
    // Computed when the first file is written, because the types need a scan of all rows.
    let computed: readonly DataColumn[] | undefined;
    const columns = (): readonly DataColumn[] => {
      computed ??= dataColumns(dataset, table);
      return computed;
    };
    const rows = files({ table }, stem, columns);
    if (table.totals === undefined) return rows;
    const ofTotals = () => columns().filter(({ total }) => total !== undefined);
    return [...rows, ...files({ table, totals: true }, `${stem}.totals`, ofTotals)];
  });

/** What programs must know about a file besides its rows: its source, and the meaning of its columns. */
export function dataDescription(
  dataset: Dataset,
  { table }: DataPart,
  columns: readonly DataColumn[],
  { run, digest, locale }: FormatContext,
) {
  const description = tableDescription(dataset, table, locale);
  return {
    title: table.title,
    ...(description === '' ? {} : { description }),
    fields: columns.map(({ name, type, source }) => ({
      name,
      type,
      ...(source === undefined ? {} : { title: source.label }),
      ...(source?.unit == null ? {} : { unit: source.unit }),
      ...(source?.description === undefined ? {} : { description: source.description }),
      ...(source?.values === undefined ? {} : { categories: source.values }),
    })),
    missingValues: [],
    docket: {
      org: dataset.org,
      report: dataset.report,
      section: table.id,
      run,
      definition: digest,
      period: { from: table.period.from, to: table.period.to, timezone: table.period.timezone },
      as_of: table.asOf,
      registry_version: dataset.registryVersion,
    },
  };
}
