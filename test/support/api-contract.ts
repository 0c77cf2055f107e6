import { validate } from '@readme/openapi-parser';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { z } from 'zod';
import type { AdminApp } from '../../src/admin/hono-env.ts';

const responseSchema = z.looseObject({ content: z.record(z.string(), z.unknown()).default({}) });
const operationSchema = z.looseObject({
  operationId: z.string().optional(),
  summary: z.string(),
  parameters: z
    .array(z.looseObject({ name: z.string(), in: z.string(), schema: z.record(z.string(), z.unknown()) }))
    .default([]),
  requestBody: z.looseObject({}).optional(),
  security: z.array(z.unknown()).optional(),
  responses: z.record(z.string(), responseSchema),
});
const documentSchema = z.looseObject({
  openapi: z.string(),
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
  components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }),
});

/** An operation as the document declares it. */
export interface DeclaredOperation extends z.infer<typeof operationSchema> {
  readonly method: string;
  readonly path: string;
}

/** The declarations of `/openapi.json`, to check responses against. */
export interface ApiContract {
  readonly operations: readonly DeclaredOperation[];
  /** The difference between a response and its declaration; undefined if there is none. */
  fault(method: string, url: string, response: Response, text: string): string | undefined;
  /** `GET /api/runs 200` for each response that matched its declaration. HEAD counts as GET. */
  readonly met: ReadonlySet<string>;
}

/** Reads the document as a client would, and checks that it is valid. */
export async function contractOf(app: AdminApp): Promise<ApiContract> {
  const text = await (await app.request('/openapi.json')).text();
  const verdict = await validate(JSON.parse(text));
  if (!verdict.valid) throw new Error(JSON.stringify(verdict.errors));
  const document = documentSchema.parse(JSON.parse(text));
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  // Clients ignore unknown fields, but an undeclared field is still our mistake.
  ajv.addSchema(
    JSON.parse(text, (_, value) => closed(value)),
    'document',
  );
  const compiled = new Map<string, ReturnType<typeof ajv.compile>>();
  const schemaAt = (...path: string[]) => {
    const known = compiled.get(path.join(' '));
    if (known !== undefined) return known;
    const pointer = path.map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`);
    const judge = ajv.getSchema(`document#${pointer.join('')}`);
    if (judge === undefined) throw new Error(`no schema at ${path.join(' ')}`);
    compiled.set(path.join(' '), judge);
    return judge;
  };
  const problemAt = schemaAt('components', 'schemas', 'Problem');
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
  const shapes = Object.keys(document.paths).map((path) => ({ path, pattern: patternOf(path) }));
  const met = new Set<string>();

  const isProblem = (response: Response, body: string, ...statuses: number[]): string | undefined => {
    if (!statuses.includes(response.status)) return `${response.status}, none of ${statuses.join(', ')}`;
    if (response.headers.get('content-type') !== 'application/problem+json') return 'no problem';
    const problem: unknown = body === '' ? undefined : JSON.parse(body);
    return problem === undefined || problemAt(problem) ? undefined : ajv.errorsText(problemAt.errors);
  };

  return {
    operations,
    met,
    fault: (method, url, response, body) => {
      const { pathname } = new URL(url, 'http://localhost');
      // If two paths fit, the one with fewer parameters counts.
      const path = shapes
        .filter(({ pattern }) => pattern.test(pathname))
        .sort((a, b) => b.path.length - a.path.length)[0];
      if (path === undefined) return isProblem(response, body, 401, 403, 404, 413, 415, 421, 429);
      const requested = method === 'HEAD' ? 'GET' : method;
      const operation = operations.find((one) => one.path === path.path && one.method === requested);
      if (operation === undefined) return isProblem(response, body, 401, 403, 405, 413, 415, 421, 429);
      const declared = operation.responses[response.status];
      if (declared === undefined) return `${response.status} is not declared`;
      const type = response.headers.get('content-type')?.split(';')[0] ?? '';
      const types = Object.keys(declared.content);
      const meant = types.includes(type) ? type : types.find((one) => one === 'application/octet-stream');
      if (types.length > 0 && meant === undefined) return `"${type}" is not declared for ${response.status}`;
      if (meant?.endsWith('json') && method !== 'HEAD') {
        const [at, of, media] = [String(response.status), requested.toLowerCase(), meant];
        const judge = schemaAt('paths', path.path, of, 'responses', at, 'content', media, 'schema');
        if (!judge(JSON.parse(body))) return `${response.status}: ${ajv.errorsText(judge.errors)}`;
      }
      met.add(`${requested} ${path.path} ${response.status}`);
      return undefined;
    },
  };
}

const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')}$`);

function closed(value: unknown): unknown {
  const object = z.looseObject({ type: z.unknown(), properties: z.looseObject({}) }).safeParse(value);
  const open = object.success && object.data.additionalProperties === undefined;
  return open ? { ...object.data, additionalProperties: false } : value;
}
