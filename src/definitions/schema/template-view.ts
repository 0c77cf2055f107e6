import { z } from 'zod';

/** Which part of the template of a report's workbook gets which data, and what is wrong with the template. */
export const templateViewSchema = z
  .object({
    template: z.string().describe('Its path from the folder of `org.yaml`.').meta({ example: 'board.xlsx' }),
    tables: z
      .array(
        z.object({
          name: z.string(),
          sheet: z.string(),
          range: z.string().meta({ example: 'B5:I9' }),
          section: z.string().describe('The section whose rows fill it.'),
          columns: z
            .array(
              z.object({
                header: z.string(),
                bound: z
                  .string()
                  .nullable()
                  .describe('Its figure; null: the template’s own cells.')
                  .meta({ example: 'trend.profiles.created' }),
              }),
            )
            .readonly(),
        }),
      )
      .readonly(),
    names: z
      .array(
        z.object({
          name: z.string().meta({ example: 'docket.period.label' }),
          cell: z.string().meta({ example: 'Board!E3' }),
          bound: z.string().describe('Its figure, with the ids of the definition.'),
        }),
      )
      .readonly(),
    problems: z
      .array(
        z.object({
          severity: z.enum(['error', 'warning']).describe('A template with an error is not filled.'),
          code: z.string(),
          at: z
            .string()
            .nullable()
            .describe('Sheet and cell; null: the file as a whole.')
            .meta({ example: 'Board!B4' }),
          message: z.string().nullable(),
          expected: z.string(),
          got: z.string(),
          next: z.string(),
        }),
      )
      .readonly()
      .describe('Errors first.'),
  })
  .meta({ id: 'WorkbookTemplate' });
export type TemplateView = z.output<typeof templateViewSchema>;
