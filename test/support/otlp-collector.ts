import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

const valueSchema = z.union([
  z.object({ stringValue: z.string() }).transform((value) => value.stringValue),
  z.object({ intValue: z.union([z.number(), z.string()]) }).transform((value) => Number(value.intValue)),
  z.object({ doubleValue: z.number() }).transform((value) => value.doubleValue),
  z.object({ boolValue: z.boolean() }).transform((value) => value.boolValue),
]);
const attributesSchema = z
  .array(z.object({ key: z.string(), value: valueSchema }))
  .transform((all) => Object.fromEntries(all.map(({ key, value }) => [key, value])));
const spanSchema = z.looseObject({
  name: z.string(),
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  kind: z.number(),
  attributes: attributesSchema,
  events: z.array(z.unknown()),
  status: z.looseObject({ code: z.number().optional() }),
});
const requestSchema = z.object({
  resourceSpans: z.array(
    z.looseObject({
      resource: z.looseObject({ attributes: attributesSchema }),
      scopeSpans: z.array(z.looseObject({ scope: z.looseObject({ name: z.string() }), spans: z.array(spanSchema) })),
    }),
  ),
});

/** A received span with the resource of its process and the name of its instrumentation. */
export type Collected = z.infer<typeof spanSchema> & {
  readonly by: string;
  readonly resource: Readonly<Record<string, unknown>>;
};

/** Receives spans over OTLP/HTTP in JSON, like a real collector. */
export interface Collector {
  readonly url: string;
  readonly spans: readonly Collected[];
  /** All received bodies. */
  readonly bodies: readonly string[];
  /** Resolves with a matching span, past or future. */
  arrived(wanted: (span: Collected) => boolean): Promise<Collected>;
  close(): Promise<void>;
}

export async function otlpCollector(): Promise<Collector> {
  const spans: Collected[] = [];
  const bodies: string[] = [];
  const looks = new Set<() => void>();
  const server = createServer(async (request, response) => {
    const body = await text(request);
    bodies.push(body);
    for (const { resource, scopeSpans } of requestSchema.parse(JSON.parse(body)).resourceSpans) {
      for (const { scope, spans: some } of scopeSpans) {
        spans.push(...some.map((span) => ({ ...span, by: scope.name, resource: resource.attributes })));
      }
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    for (const look of looks) look();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    bodies,
    arrived: (wanted) =>
      new Promise((resolve) => {
        const look = () => {
          const found = spans.find(wanted);
          if (found === undefined) return;
          looks.delete(look);
          resolve(found);
        };
        looks.add(look);
        look();
      }),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
