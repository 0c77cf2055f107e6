import { z } from 'zod';
import type { DefinitionKinds } from '../definitions/schema/kinds.ts';
import { approvalSchema, commentarySchema, correctionsSchema, peopleSchema } from '../definitions/schema/review.ts';

/** The fields of outputs, deliveries and reviews as one page of Markdown, from their schemas: `docs/report-fields.md`. */
export function fieldReference({ targets, formats }: DefinitionKinds): string {
  const names = formats.map(({ format }) => format);
  return `${[
    '# Fields of outputs, deliveries and reviews',
    '<!-- Generated from the registries of formats and targets, and from the schemas of reviews, by `npm run docs:cli`; a test compares them. -->',
    'A report definition lists `outputs`, the files that a run makes, and `deliveries`, where they go. Templates and conditions are described in [where reports go](targets.md).',
    '## outputs[]',
    ...formats.flatMap(({ format, schema }) => [`### \`format: ${format}\``, fieldTable(schema)]),
    '## deliveries[]',
    'Each entry has the field of exactly one target, and may have `send_if`.',
    ...targets.flatMap(({ kind, schema }) => [`### \`${kind}\``, fieldTable(schema(names))]),
    '## approval',
    'Nothing is delivered before these people have approved exactly its content.',
    fieldTable(approvalSchema),
    '## sections[].commentary',
    '`required` or `optional`, or these fields. Sections with `layout: text` have none.',
    fieldTable(commentarySchema),
    '## corrections',
    fieldTable(correctionsSchema),
    '## people, in org.yaml',
    'A person for each key, who counts once whatever they sign in with.',
    fieldTable(peopleSchema),
  ].join('\n\n')}\n`;
}

/** The parts of a JSON Schema that the tables show. */
interface FieldSchema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly description?: string;
  readonly items?: FieldSchema;
  readonly anyOf?: readonly FieldSchema[];
  readonly additionalProperties?: FieldSchema | boolean;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
}

const fieldTable = (schema: z.ZodType): string =>
  [
    '| field | value | |',
    '|---|---|---|',
    ...rowsOf(withFields(z.toJSONSchema(schema, { io: 'input', target: 'draft-2020-12' }) as FieldSchema), ''),
  ].join('\n');

/** Of alternatives that with fields; of a mapping with any keys the fields of its values. */
const withFields = (schema: FieldSchema): FieldSchema =>
  schema.anyOf?.find(({ properties }) => properties !== undefined) ??
  (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : schema);

const rowsOf = ({ properties = {}, required = [] }: FieldSchema, prefix: string): readonly string[] =>
  Object.entries(properties).flatMap(([name, field]) => {
    const notes = [
      ...(required.includes(name) ? ['Required.'] : []),
      ...(field.description === undefined ? [] : [field.description]),
      ...(field.default === undefined ? [] : [`Default: \`${JSON.stringify(field.default)}\`.`]),
    ];
    const row = `| \`${prefix}${name}\` | ${cell(valueText(field))} | ${cell(notes.join(' '))} |`;
    // A reference to a secret is one value for readers.
    return isSecretRef(field) ? [row] : [row, ...rowsOf(field, `${prefix}${name}.`)];
  });

function valueText(field: FieldSchema): string {
  if (isSecretRef(field)) return 'reference';
  if (field.anyOf !== undefined) return [...new Set(field.anyOf.map(valueText))].join(' or ');
  if (field.const !== undefined) return `\`${field.const}\``;
  if (field.enum !== undefined) return field.enum.map((value) => `\`${value}\``).join(', ');
  if (field.type === 'array') return `list: ${valueText(field.items ?? {})}`;
  if (field.type === 'object') return `{ ${Object.keys(field.properties ?? {}).join(', ')} }`;
  return field.type === 'string' ? 'text' : (field.type ?? 'any');
}

const isSecretRef = ({ anyOf = [] }: FieldSchema): boolean =>
  anyOf.length === 2 && anyOf.every(({ properties = {} }) => 'env' in properties || 'file' in properties);

const cell = (text: string): string => text.replaceAll('|', '\\|');
