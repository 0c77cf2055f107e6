import { z } from 'zod';

const schemaSchema = z.looseObject({
  $ref: z.string().optional(),
  description: z.string().optional(),
  example: z.unknown().optional(),
  default: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
});
type Schema = z.infer<typeof schemaSchema>;

const bodySchema = z.looseObject({ content: z.record(z.string(), z.looseObject({ schema: z.unknown().optional() })) });
const operationSchema = z.looseObject({
  tags: z.array(z.string()).default([]),
  summary: z.string().default(''),
  description: z.string().optional(),
  security: z.array(z.unknown()).optional(),
  parameters: z
    .array(
      z.looseObject({
        name: z.string(),
        in: z.enum(['path', 'query', 'header']),
        required: z.boolean().default(false),
        description: z.string().optional(),
        schema: schemaSchema,
      }),
    )
    .default([]),
  requestBody: bodySchema.optional(),
  responses: z.record(z.string(), z.looseObject({ description: z.string() })),
});
const documentSchema = z.looseObject({
  info: z.looseObject({ title: z.string(), version: z.string(), description: z.string().default('') }),
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
  components: z.looseObject({ schemas: z.record(z.string(), schemaSchema).default({}) }),
});

/** A field of a request that somebody may fill in. */
export interface Field {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly example: string;
  /** Empty: any text. */
  readonly choices: readonly string[];
}

/** What a route takes and answers, ready to be shown. */
export interface Operation {
  /** Names it in links of the page. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly fields: readonly Field[];
  /** Absent where it takes none. */
  readonly body?: { readonly type: string; readonly example: string };
  readonly answers: readonly { readonly status: string; readonly description: string }[];
}

/** The document as people read it: operations by what they are about, in the order in which they were added. */
export interface Reference {
  readonly title: string;
  readonly version: string;
  /** Paragraphs. */
  readonly about: readonly string[];
  readonly groups: readonly { readonly name: string; readonly operations: readonly Operation[] }[];
}

/** @param document OpenAPI 3.1 as `/openapi.json` has it */
export function referenceOf(document: unknown): Reference {
  const { info, paths, components } = documentSchema.parse(document);
  const groups = new Map<string, Operation[]>();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const group = operation.tags[0] ?? 'Other';
      const shown = operationOf(method.toUpperCase(), path, operation, components.schemas);
      groups.set(group, [...(groups.get(group) ?? []), shown]);
    }
  }
  return {
    title: info.title,
    version: info.version,
    about: info.description.split('\n\n'),
    groups: [...groups].map(([name, operations]) => ({ name, operations })),
  };
}

function operationOf(
  method: string,
  path: string,
  { summary, description = '', parameters, requestBody, responses }: z.infer<typeof operationSchema>,
  named: Readonly<Record<string, Schema>>,
): Operation {
  const [content] = Object.entries(requestBody?.content ?? {});
  return {
    id: `${method}${path}`.replaceAll(/[^a-zA-Z]+/g, '-').toLowerCase(),
    method,
    path,
    summary,
    description,
    fields: parameters.map(({ name, in: place, required, description: about, schema }) => ({
      name,
      in: place,
      required,
      description: about ?? schema.description ?? '',
      example: schema.example === undefined ? '' : String(schema.example),
      choices: (schema.enum ?? []).map(String),
    })),
    ...(content === undefined ? {} : { body: { type: content[0], example: exampleBody(content[1].schema, named) } }),
    answers: Object.entries(responses).map(([status, answer]) => ({ status, description: answer.description })),
  };
}

function exampleBody(schema: unknown, named: Readonly<Record<string, Schema>>): string {
  const sample = sampleOf(schema, named);
  return typeof sample === 'string' ? sample : JSON.stringify(sample, null, 2);
}

/** A value that the schema takes: its own example, its default, or one made of its members'. */
function sampleOf(schema: unknown, named: Readonly<Record<string, Schema>>): unknown {
  const parsed = schemaSchema.safeParse(schema);
  if (!parsed.success) return null;
  const { $ref, example, default: normal, enum: choices, properties } = parsed.data;
  if ($ref !== undefined) return sampleOf(named[$ref.split('/').at(-1) ?? ''], named);
  if (example !== undefined) return example;
  if (normal !== undefined) return normal;
  if (choices !== undefined) return choices[0];
  if (properties === undefined) return '';
  return Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, sampleOf(member, named)]));
}
