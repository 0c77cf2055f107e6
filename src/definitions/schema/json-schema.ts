import { z } from 'zod';
import type { DefinitionKinds } from './kinds.ts';
import { orgFileSchema } from './org-settings.ts';
import { createReportSchema } from './report-definition.ts';
import { targetsFileSchema } from './targets.ts';

/** A JSON Schema (draft 2020-12) of a file, generated from the schema that parses it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const inputJsonSchema = (schema: z.ZodType, title: string): JsonSchema => {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input', target: 'draft-2020-12' });
  return { $schema, title, ...rest };
};

/** For editors: `jobs/<org>/<report>.yaml`. */
export const reportJsonSchema = (kinds: DefinitionKinds): JsonSchema =>
  inputJsonSchema(createReportSchema(kinds), 'Docket report definition');

/** For editors: `jobs/<org>/targets.yaml`. */
export const targetsJsonSchema = (): JsonSchema => inputJsonSchema(targetsFileSchema, 'Docket targets');

/** For editors: `jobs/<org>/org.yaml`. */
export const orgJsonSchema = (): JsonSchema => inputJsonSchema(orgFileSchema, 'Docket organization');
