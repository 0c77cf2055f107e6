import { z } from 'zod';
import type { DefinitionKinds } from './kinds.ts';
import { orgFileSchema } from './org-settings.ts';
import { createReportSchema } from './report-definition.ts';
import { targetsFileSchema } from './targets.ts';

/** A JSON Schema (draft 2020-12) of a file, generated from the schema that parses it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** @param name of the file where SchemaStore publishes it */
const inputJsonSchema = (schema: z.ZodType, name: string, title: string): JsonSchema => {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input', target: 'draft-2020-12' });
  return { $schema, $id: `https://json.schemastore.org/${name}.json`, title, ...rest };
};

/** The schema of `jobs/<org>/<report>.yaml`, for editors. */
export const reportJsonSchema = (kinds: DefinitionKinds): JsonSchema =>
  inputJsonSchema(createReportSchema(kinds), 'docket-report', 'Docket report definition');

/** The schema of `jobs/<org>/targets.yaml`, for editors. */
export const targetsJsonSchema = (): JsonSchema =>
  inputJsonSchema(targetsFileSchema, 'docket-targets', 'Docket targets');

/** The schema of `jobs/<org>/org.yaml`, for editors. */
export const orgJsonSchema = (): JsonSchema => inputJsonSchema(orgFileSchema, 'docket-org', 'Docket organization');
