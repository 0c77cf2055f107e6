import { z } from 'zod';
import { reportFileSchema } from './definition.ts';
import { orgFileSchema } from './org.ts';

/** A JSON Schema (draft 2020-12) of what may be written, generated from the schema that reads it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const written = (schema: z.ZodType, title: string): JsonSchema => {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input', target: 'draft-2020-12' });
  return { $schema, title, ...rest };
};

/** For editors: `jobs/<org>/<report>.yaml`. */
export const reportJsonSchema = (): JsonSchema => written(reportFileSchema, 'Docket report definition');

/** For editors: `jobs/<org>/org.yaml`. */
export const orgJsonSchema = (): JsonSchema => written(orgFileSchema, 'Docket organization');
