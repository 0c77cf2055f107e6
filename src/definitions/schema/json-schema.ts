import { z } from 'zod';
import { orgFileSchema } from './org-settings.ts';
import { reportFileSchema } from './report-definition.ts';

/** A JSON Schema (draft 2020-12) of what may be written, generated from the schema that reads it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const inputJsonSchema = (schema: z.ZodType, title: string): JsonSchema => {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input', target: 'draft-2020-12' });
  return { $schema, title, ...rest };
};

/** For editors: `jobs/<org>/<report>.yaml`. */
export const reportJsonSchema = (): JsonSchema => inputJsonSchema(reportFileSchema, 'Docket report definition');

/** For editors: `jobs/<org>/org.yaml`. */
export const orgJsonSchema = (): JsonSchema => inputJsonSchema(orgFileSchema, 'Docket organization');
