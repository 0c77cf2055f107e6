import type { z } from 'zod';
import { dataOutputSchema, sectionNameDiagnostics } from '../data-files.ts';
import type { Format } from '../format.ts';

const schema = dataOutputSchema('jsonl');

/**
 * JSON Lines: one object per row, with raw values. One file per section, another for its totals, and a schema for each.
 */
export const jsonlFormat: Format<z.output<typeof schema>> = {
  format: 'jsonl',
  label: 'JSON Lines',
  schema,
  severalFiles: true,
  diagnostics: sectionNameDiagnostics,
  render: async (dataset, output, context) => {
    const { jsonlFiles } = await import('./jsonl-files.ts');
    return jsonlFiles(dataset, output, context);
  },
};
