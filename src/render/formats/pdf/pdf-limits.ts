import { z } from 'zod';
import type { OutputIssue } from '../../../definitions/schema/kinds.ts';
import { DEFAULT_TOP } from '../../../definitions/schema/layout.ts';

/**
 * The most rows of all sections in a PDF, about sixty pages. More belongs in the workbook or the CSV files, and would
 * take longer than the time limit.
 */
export const MAX_PDF_ROWS = 2000;
/** The most cells of all tables. Typst takes about 30 KB for each, and its process may take 768 MB. */
export const MAX_PDF_CELLS = 16_000;

/** The fields that decide the number of a section's rows. The section's own schema checks all others. */
const sectionSchema = z.looseObject({
  id: z.string().catch(''),
  list: z.string().optional().catch(undefined),
  layout: z.string().optional().catch(undefined),
  limit: z.number().optional().catch(undefined),
  top: z.number().optional().catch(undefined),
  worst: z.number().optional().catch(undefined),
  print: z.boolean().optional().catch(undefined),
});
type CheckedSection = z.output<typeof sectionSchema>;

/** The number of rows that the definition requests; 0 if it does not say. */
function countRequestedRows({ layout, limit = 0, top, worst, print }: CheckedSection): number {
  if (print === false) return 0;
  return layout === 'exceptions' ? (top ?? worst ?? DEFAULT_TOP) : limit;
}

/** Whether a list would be printed in full although the definition does not say so. A list has no limit of its own. */
const isUndecidedList = ({ list, layout, print }: CheckedSection): boolean =>
  list !== undefined && layout !== 'exceptions' && print === undefined;

/** Finds sections that are too long for a PDF, as far as the definition shows it. */
export function rowIssues(sections: readonly unknown[]): readonly OutputIssue[] {
  const known = sections.map((section) => sectionSchema.safeParse(section).data).filter((each) => each !== undefined);
  const issues = known.filter(isUndecidedList).map(
    ({ id }): OutputIssue => ({
      path: ['format'],
      expected: `a decision about the list "${id}", whose rows nothing limits (a PDF shows at most ${MAX_PDF_ROWS} rows)`,
      next: `set "print: false" in "${id}" to leave it out, or "print: true" to print its first rows`,
    }),
  );
  const rows = known.reduce((sum, section) => sum + countRequestedRows(section), 0);
  if (rows <= MAX_PDF_ROWS) return issues;
  const long = known
    .filter((section) => countRequestedRows(section) > 0)
    .sort((one, other) => countRequestedRows(other) - countRequestedRows(one))
    .slice(0, 3)
    .map((section) => `"${section.id}" ${countRequestedRows(section)}`);
  return [
    ...issues,
    {
      path: ['format'],
      expected: `at most ${MAX_PDF_ROWS} rows in a PDF; the sections ask for ${rows} (${long.join(', ')})`,
      next: 'lower "limit", or set "print: false" in the long sections: the workbook and the CSV files have all rows',
    },
  ];
}
