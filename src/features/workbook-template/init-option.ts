import type { InitOption } from '../../cli/io.ts';

/** `docket init --workbook`: writes a starter template. */
export const initOption: InitOption = {
  name: 'workbook',
  flags: '--workbook <file>',
  description: 'instead of a report: write a starter template for the workbook of a report, to design in Excel',
  report: '; with --workbook: <org/report>',
  details: `
With --workbook it writes one .xlsx file: a front sheet whose cells have names, and a sheet with a table for each section.
Everything in it binds to the report (docs/how-to/design-workbook.md). It fetches the catalog for labels.
`,
  example: 'docket init --workbook jobs/acme/board.xlsx --report acme/board-pack',
  run: async (path, flags, io) => (await import('./starter/write-starter.ts')).initStarterWorkbook(path, flags, io),
};
