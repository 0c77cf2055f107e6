import type { z } from 'zod';
import { dataOutputSchema, sectionNameDiagnostics } from '../data-files.ts';
import type { Format } from '../format.ts';

const schema = dataOutputSchema('parquet');

/**
 * Apache Parquet: typed columns with raw values. One file per section, another for its totals. Units are in its
 * metadata.
 */
export const parquetFormat: Format<z.output<typeof schema>> = {
  format: 'parquet',
  label: 'Parquet',
  schema,
  severalFiles: true,
  diagnostics: sectionNameDiagnostics,
  render: async (dataset, output, context) => {
    const { parquetFiles } = await import('./parquet-files.ts');
    return parquetFiles(dataset, output, context);
  },
};
