import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Secret } from '../../../src/base/secrets/secret.ts';
import { catalogSchema } from '../../../src/contract/catalog.ts';
import { reportResponseSchema } from '../../../src/contract/report.ts';
import { compressJson, decompressJson } from '../../../src/fetch/cache/compressed-json.ts';
import { type ComplianceClient, createClient } from '../../../src/fetch/client/compliance-client.ts';
import { httpError } from '../../../src/fetch/client/http-error.ts';
import { parseResponse } from '../../../src/fetch/client/response-body.ts';
import { parseUntrustedJson } from '../../../src/fetch/client/untrusted-input.ts';
import {
  assertDocketError,
  cases,
  expectCleanPrototypes,
  hostileText,
  least,
  mutatedJson,
  readOrUndefined,
  resolveOrUndefined,
  within,
} from '../../support/fuzz.ts';
import { type HostileServer, hostileServer } from '../../support/hostile-server.ts';
import { CATALOG } from '../../support/reports.ts';

const AS_IT_IS = { where: 'GET /', redact: (text: string) => text };
const ORGANIZATION = { id: 101, name: 'Acme', url: 'https://api.example/api/orgs/101/', image: null };
const PAGE = {
  count: 2,
  next: '/api/orgs/101/profiles/?page=2',
  previous: null,
  results: [
    { id: 1, name: 'Ann', risk: 'high', score: 0.5, tags: ['a'] },
    { id: 2, name: 'Bob', risk: null, score: 1, tags: [] },
  ],
};
const REQUEST = { metrics: ['profiles.created', 'profiles.approval_rate'], dimensions: ['profile.type'] };
const ANSWER = {
  meta: {
    as_of: '2026-11-19T08:00:00Z',
    cached: false,
    refresh_retry_after: null,
    timezone: 'UTC',
    range: { from: '2026-10-21', to: '2026-11-19' },
    granularity: 'week',
    row_count: 1,
    truncated: false,
    registry_version: 7,
  },
  columns: [{ name: 'profiles.created', label: 'Created', kind: 'metric', type: 'integer', unit: 'count' }],
  rows: [
    {
      bucket: '2026-11-16',
      'profile.type': 'entity',
      'profiles.created': 4,
      'profiles.approval_rate': null,
      partial: true,
    },
  ],
  totals: { 'profiles.created': 4, 'profiles.approval_rate': 0.5, compare: { 'profiles.created': 3 } },
};
const PROBLEM = {
  detail: 'A metric does not exist.',
  code: 'analytics.unknown_metric',
  correlation_id: 'c0ffee00-1234-4abc-8def-000000000001',
  errors: [{ pointer: '/metrics/0', code: 'invalid', detail: 'No such metric.', metadata: { allowed: ['a'] } }],
};

/** A header value that Node can send. It refuses others. */
const headerText = (most: number) => hostileText(most).map((text) => text.replace(/[^\x20-\x7e\x80-\xff]/g, ''));
const headers = fc.record(
  {
    'content-type': fc.oneof(
      fc.constantFrom('application/json', 'application/problem+json; charset=latin1', 'text/html', ''),
      headerText(3),
    ),
    'content-encoding': fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom('identity', '') },
      fc.constantFrom('gzip', 'br', 'GZIP, gzip'),
      headerText(2),
    ),
    'retry-after': fc.oneof(
      fc.constantFrom('5', '0', '-1', '1e9', '9'.repeat(400), 'Wed, 21 Oct 2026 07:28:00 GMT', 'Thu, 99 Foo'),
      headerText(3),
    ),
    'ratelimit-remaining': headerText(2),
    date: fc.oneof(fc.constant('Wed, 21 Oct 2026 07:28:00 GMT'), headerText(2)),
    'x-correlation-id': headerText(4),
    location: headerText(4),
  },
  { requiredKeys: [] },
);
const status = fc.oneof(
  { weight: 6, arbitrary: fc.constant(200) },
  { weight: 4, arbitrary: fc.constantFrom(204, 301, 400, 401, 403, 404, 408, 422, 429, 500, 502, 503, 599) },
  fc.integer({ min: 200, max: 599 }),
);

describe('any response of the service is either valid or a readable error:', () => {
  const never = new AbortController().signal;
  let server: HostileServer;
  let client: ComplianceClient;
  beforeAll(async () => {
    server = await hostileServer();
    client = createClient({
      baseUrl: server.url,
      key: new Secret('dk_test.notInAnyError'),
      timeouts: { total: 5_000 },
    });
  });
  afterAll(async () => {
    await server.close();
    await client.close();
  });

  const ENDPOINTS = {
    organizations: { example: [ORGANIZATION, ORGANIZATION], ask: () => client.organizations(never) },
    catalog: { example: CATALOG, ask: () => client.catalog('current', never) },
    report: { example: ANSWER, ask: () => client.report('current', REQUEST, never) },
    page: { example: PAGE, ask: () => client.listPage({ org: 101, list: 'profiles' }, null, never) },
  } as const;

  test.each(Object.entries(ENDPOINTS))(
    '%s',
    async (_, { example, ask }) => {
      let read = 0;
      const answer = fc.tuple(
        status,
        headers,
        fc.oneof(fc.constant(JSON.stringify(example)), { weight: 4, arbitrary: mutatedJson(example) }),
        mutatedJson(PROBLEM),
        fc.boolean(),
        fc.nat({ max: 20 }),
      );
      await fc.assert(
        fc.asyncProperty(answer, async ([code, sent, body, problem, zip, cut]) => {
          server.behave((_request, response) => {
            const text = Buffer.from(code === 200 ? body : problem);
            const bytes = zip && sent['content-encoding'] === 'gzip' ? gzipSync(text) : text;
            const length = cut === 0 ? { 'content-length': String(bytes.length + 10) } : {};
            response.writeHead(code, { 'content-type': 'application/json', ...sent, ...length });
            // Some responses break off.
            if (cut === 0) response.write(bytes, () => response.destroy());
            else response.end(bytes);
          });
          const got = await resolveOrUndefined(async () => {
            try {
              return await ask();
            } catch (thrown) {
              assertDocketError(thrown, { code, sent, body, problem });
              expect(thrown.code).toMatch(/^api\./);
              expect(JSON.stringify(thrown)).not.toContain('notInAnyError');
              // A response can neither control a terminal nor fill a log.
              expect(`${thrown.message}${thrown.got}${thrown.correlationId}`.replaceAll('\n  ', '')).not.toMatch(
                /[\p{Cc}\u202e\u2066]/u,
              );
              expect(thrown.message.length).toBeLessThan(12_000);
              expect(thrown.retryAfterMs ?? 0).toBeGreaterThanOrEqual(0);
              expect(thrown.retryAfterMs ?? 0).toBeLessThanOrEqual(3_600_000);
              throw thrown;
            }
          });
          expectCleanPrototypes();
          if (got === undefined) return;
          read += 1;
          // A stored response must be read unchanged by the next attempt.
          const again = await decompressJson(await compressJson(got), z.unknown());
          expect(again).toEqual(JSON.parse(JSON.stringify(got)));
        }),
        cases(250),
      );
      expect(read).toBeGreaterThan(least(10));
    },
    within(5),
  );
});

test(
  'a stored response that is not valid by its schema is not read',
  () => {
    fc.assert(
      fc.property(mutatedJson(ANSWER), mutatedJson(CATALOG), (answer, catalog) => {
        for (const [text, schema] of [
          [answer, reportResponseSchema],
          [catalog, catalogSchema],
        ] as const) {
          const read = readOrUndefined(() => parseResponse(Buffer.from(text), undefined, schema, AS_IT_IS), text);
          if (read === undefined) continue;
          expect(schema.safeParse(JSON.parse(JSON.stringify(read))).success).toBe(true);
        }
        expectCleanPrototypes();
      }),
      cases(1_000),
    );
  },
  within(3),
);

test(
  'a damaged response in Redis is read as missing or as valid JSON, never with an exception',
  async () => {
    await fc.assert(
      fc.asyncProperty(mutatedJson(ANSWER), fc.nat(), fc.integer({ min: 0, max: 255 }), async (text, at, byte) => {
        const packed = Buffer.from(await compressJson(text.repeat(at % 7)));
        if (packed.length > 0) packed[at % packed.length] = byte;
        const read = await decompressJson(packed, z.string());
        expect(read === undefined || typeof read === 'string').toBe(true);
        expect(await decompressJson(Buffer.from(text), reportResponseSchema)).toSatisfy(
          (value) => value === undefined || typeof value === 'object',
        );
      }),
      cases(300),
    );
  },
  within(3),
);

describe('untrusted JSON', () => {
  test(
    'is read like JSON.parse does, unless it is nested too deep',
    () => {
      const deep = (text: string): number => {
        let most = 0;
        const walk = (value: unknown, depth: number): void => {
          most = Math.max(most, depth);
          if (depth < 200 && typeof value === 'object' && value !== null)
            for (const inner of Object.values(value)) walk(inner, depth + 1);
        };
        walk(JSON.parse(text), 0);
        return most;
      };
      const brackets = (text: string): number => text.replaceAll(/[^[{]/g, '').length;
      fc.assert(
        fc.property(fc.oneof(fc.json({ maxDepth: 6 }), mutatedJson(ANSWER)), fc.nat({ max: 90 }), (inner, depth) => {
          const text = `${'['.repeat(depth)}${inner}${']'.repeat(depth)}`;
          let expected: unknown;
          try {
            expected = JSON.parse(text);
          } catch {
            expect(() => parseUntrustedJson(Buffer.from(text), AS_IT_IS.redact)).toThrow(SyntaxError);
            return;
          }
          // Of duplicate names only the last value is read, whatever the depth of the others.
          const readWhole = deep(text) > 64 || brackets(text) === brackets(JSON.stringify(expected));
          if (!readWhole) return;
          if (deep(text) < 64)
            expect(parseUntrustedJson(Buffer.from(text), AS_IT_IS.redact)).toEqual(
              JSON.parse(Buffer.from(text).toString('utf8')),
            );
          else if (deep(text) > 64)
            expect(() => parseUntrustedJson(Buffer.from(text), AS_IT_IS.redact)).toThrow(SyntaxError);
        }),
        cases(500),
      );
    },
    within(3),
  );

  test('may have any number of brackets inside strings', () => {
    const text = JSON.stringify({ 'a\\"[[': `${'['.repeat(500)}\\"${'{'.repeat(500)}\\` });
    expect(parseUntrustedJson(Buffer.from(text), AS_IT_IS.redact)).toEqual(JSON.parse(text));
  });

  test('that is nested too deep in an error response does not change the kind of the error', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const body = Buffer.from(`{"detail":"No.","errors":[{"metadata":{"a":${deep}}}]}`);
    const error = httpError(
      { status: 422, where: 'POST /', header: () => undefined, body, redact: AS_IT_IS.redact },
      0,
    );
    expect(error).toMatchObject({ code: 'api.refused', retryable: false });
  });

  test('that is nested too deep in a response makes it unreadable', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const text = JSON.stringify(CATALOG).replace('{', `{"more":${deep},`);
    const read = () => parseResponse(Buffer.from(text), undefined, catalogSchema, AS_IT_IS);
    expect(read).toThrow(expect.objectContaining({ code: 'api.unreadable' }));
  });
});
