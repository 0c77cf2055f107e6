import { createServer, type Socket } from 'node:net';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { createRedactor } from '../../../src/base/secrets/redactor.ts';
import { Secret, secretSource } from '../../../src/base/secrets/secret.ts';
import {
  readArchivedStates,
  readAttempts,
  readReceipts,
  readRelease,
} from '../../../src/deliver/archive/attempt-log.ts';
import { readManifest } from '../../../src/deliver/archive/run-folder/run-metadata.ts';
import type { RunFiles } from '../../../src/deliver/archive/storage/archive-storage.ts';
import { s3Objects } from '../../../src/deliver/archive/storage/s3-objects.ts';
import { destinationGuard } from '../../../src/deliver/destination-guard.ts';
import { connectS3 } from '../../../src/deliver/internal/s3/s3-client.ts';
import { classifyS3Error } from '../../../src/deliver/internal/s3/s3-failure.ts';
import { accessTokens } from '../../../src/deliver/targets/email/smtp/oauth2.ts';
import { smtpMailer } from '../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { classifyFailure } from '../../../src/deliver/targets/email/smtp/smtp-replies.ts';
import { sendWebhook } from '../../../src/deliver/targets/webhook/webhook-target.ts';
import { manifestOf, SETTINGS } from '../../support/delivery-case.ts';
import {
  ALL_CASES,
  assertDocketError,
  cases,
  expectCleanPrototypes,
  hostileText,
  least,
  mutatedJson,
  mutatedText,
  resolveOrUndefined,
  within,
} from '../../support/fuzz.ts';
import { hostileServer } from '../../support/hostile-server.ts';

const never = new AbortController().signal;
const ONE_LINE = /^[^\p{Cc}\p{Zl}\p{Zp}]*$/u;

test(
  'metadata files of an archived run are read completely or reported as corrupt',
  async () => {
    const run = 'a'.repeat(32);
    const delivery = `${'b'.repeat(16)}${run.slice(0, 16)}`;
    const examples: Readonly<Record<string, unknown>> = {
      'manifest.json': manifestOf([], run),
      'receipts.json': [
        { delivery, target: '1-email', recipient: 'a@acme.example', state: 'sent', detail: null, messageId: null },
      ],
      'release.json': { by: 'ann', reason: 'a', at: 1 },
      [`attempts/${delivery}.1.json`]: {
        delivery,
        epoch: 1,
        state: 'sending',
        detail: null,
        at: 1,
        message: 'a'.repeat(64),
      },
      [`attempts/${delivery}.1.decision.json`]: {
        delivery,
        epoch: 1,
        state: 'sent',
        detail: 'a',
        at: 2,
        decision: { to: 'sent', by: 'ann', reason: 'b', at: 2 },
      },
    };
    const papers = fc.record(
      Object.fromEntries(Object.entries(examples).map(([name, example]) => [name, mutatedJson(example, 1)])),
      { requiredKeys: [] },
    );
    const more = mutatedText(
      [`attempts/${delivery}.2.end.json`, `messages/${delivery}.${'0'.repeat(16)}.eml`],
      ['9'.repeat(400), '..'],
    );
    let whole = 0;
    await fc.assert(
      fc.asyncProperty(papers, more, async (written, odd) => {
        const files = new Map(
          Object.entries({ ...written, [odd]: '{}' }).map(([name, text]) => [name, Buffer.from(text ?? '')]),
        );
        const box: RunFiles = {
          location: 'the test',
          get: async (name) => files.get(name),
          stream: async () => undefined,
          put: () => Promise.reject(new Error('nobody writes here')),
          putPair: () => Promise.reject(new Error('nobody writes here')),
          list: async () => [...files.keys()].sort(),
        };
        for (const read of [readManifest, readReceipts, readRelease, readAttempts, readArchivedStates]) {
          const found = await resolveOrUndefined(async () => {
            try {
              return await read(box);
            } catch (thrown) {
              assertDocketError(thrown, written);
              expect(thrown.code).toBe('archive.corrupt');
              throw thrown;
            }
          }, written);
          if (found !== undefined) whole += 1;
        }
        expectCleanPrototypes();
      }),
      cases(300),
    );
    expect(whole).toBeGreaterThan(least(100));
  },
  within(3),
);

test(
  'any response of a token server gives a token or an error without secrets',
  async () => {
    const server = await hostileServer();
    onTestFinished(() => server.close());
    const client = {
      tokenUrl: `${server.url}/token`,
      clientId: new Secret('client'),
      clientSecret: new Secret('hunter2hunter2'),
      refreshToken: undefined,
      scope: undefined,
      redactor: createRedactor(),
    };
    let granted = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(200, 200, 200, 400, 401, 500, 302),
        mutatedJson({ access_token: 'abc', expires_in: 3600, token_type: 'Bearer' }, 2),
        mutatedJson({ error: 'invalid_grant' }, 2),
        async (status, body, refusal) => {
          server.behave((_request, response) => void response.writeHead(status).end(status === 200 ? body : refusal));
          const token = await resolveOrUndefined(async () => {
            try {
              return await accessTokens(client, systemClock)({ renew: false });
            } catch (thrown) {
              assertDocketError(thrown, body);
              expect(thrown.code).toBe('deliver.target_failed');
              expect(JSON.stringify(thrown)).not.toContain('hunter2');
              expect(thrown.got).toMatch(ONE_LINE);
              throw thrown;
            }
          });
          if (token !== undefined) {
            granted += 1;
            expect(token.reveal()).not.toBe('');
          }
          expectCleanPrototypes();
        },
      ),
      cases(200),
    );
    expect(granted).toBeGreaterThan(least(10));
  },
  within(3),
);

test(
  'any response of a webhook gives sent, refused, pending or unknown',
  async () => {
    const server = await hostileServer();
    onTestFinished(() => server.close());
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const leave = sendWebhook(
      {
        spec: { url: server.url, secret: { env: 'A' }, idempotent: false },
        id: 'delivery',
        body: '{}',
        clock: systemClock,
        guard: destinationGuard(SETTINGS),
        options: { allowPrivate: true },
      },
      secretSource({ A: secret }),
    );
    const headers = fc.record(
      { 'retry-after': hostileText(2).map((text) => text.replace(/[^\x20-\x7e]/g, '')) },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 200, max: 599 }),
        headers,
        hostileText(20),
        fc.boolean(),
        async (status, sent, body, cut) => {
          server.behave((_request, response) => {
            response.writeHead(status, { ...sent, ...(cut ? { 'content-length': '100000' } : {}) });
            if (cut) response.write(body || 'x', () => response.destroy());
            else response.end(body);
          });
          const ending = await leave(never);
          expect(['sent', 'refused', 'pending', 'unknown']).toContain(ending.state);
          if (ending.state === 'sent') expect(status).toBeLessThan(300);
          expect(ending.detail).toMatch(ONE_LINE);
        },
      ),
      cases(150),
    );
  },
  within(4),
);

test(
  'any response of an S3 store gives an object, nothing or an archive error',
  async () => {
    const server = await hostileServer();
    onTestFinished(() => server.close());
    const access = {
      bucket: 'reports',
      endpoint: server.url,
      region: 'eu',
      path_style: true,
      credentials: { access_key_id: { env: 'ID' }, secret_access_key: { env: 'KEY' } },
    };
    const secrets = secretSource({ ID: 'hunter2hunter2', KEY: 'hunter2hunter2' });
    const connection = await connectS3(access, secrets, 2_000);
    onTestFinished(() => connection.client.destroy());
    const objects = s3Objects('reports', 's3://reports', async () => connection);
    const LIST =
      '<?xml version="1.0"?><ListBucketResult><Name>reports</Name><IsTruncated>false</IsTruncated><Contents><Key>a/b</Key><LastModified>2026-11-19T08:00:00.000Z</LastModified><Size>3</Size></Contents><CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes></ListBucketResult>';
    const FAILURE =
      '<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>No.</Message><Resource>hunter2hunter2</Resource></Error>';
    const XML = [
      '<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]>',
      '&c;',
      '<Key>',
      '</Key>',
      '<IsTruncated>true</IsTruncated>',
      '<Contents>',
      '<![CDATA[',
      '&#0;',
      '&#xD800;',
      '<__proto__>',
      '</__proto__>',
      '-1',
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(200, 200, 400, 403, 404, 412, 301),
        mutatedText([LIST], XML),
        mutatedText([FAILURE], XML),
        async (status, list, failure) => {
          server.behave(
            (request, response) =>
              void response
                .writeHead(status, { 'content-type': 'application/xml' })
                .end(request.method === 'HEAD' ? '' : status === 200 ? list : failure),
          );
          const ask = async (question: () => Promise<unknown>) =>
            resolveOrUndefined(async () => {
              try {
                return await question();
              } catch (thrown) {
                assertDocketError(thrown, { list, failure });
                expect(thrown.code).toMatch(/^archive\./);
                expect(JSON.stringify(thrown)).not.toContain('hunter2');
                throw thrown;
              }
            });
          await ask(() => objects.get('a/b'));
          await ask(async () => {
            for await (const { key, at } of objects.list('a/')) {
              expect(typeof key).toBe('string');
              expect(Number.isFinite(at)).toBe(true);
              // A listing that claims to continue would never end here.
              break;
            }
          });
          await ask(() => objects.exists('a/b'));
          expectCleanPrototypes();
        },
      ),
      cases(60),
    );
  },
  within(10),
);

test(
  'any error of an SDK becomes a result in one line',
  () => {
    const thrown = fc.oneof(
      fc
        .record(
          {
            name: fc.oneof(hostileText(2), fc.anything()),
            code: fc.anything(),
            message: hostileText(),
            $metadata: fc.oneof(fc.record({ httpStatusCode: fc.oneof(fc.integer(), fc.anything()) }), fc.anything()),
          },
          { requiredKeys: [] },
        )
        .map((parts) => Object.assign(new Error('a'), parts)),
      fc
        .anything({ withNullPrototype: false })
        .filter((value) => typeof value !== 'symbol' && typeof value !== 'object'),
    );
    fc.assert(
      fc.property(thrown, hostileText(), fc.integer(), fc.boolean(), (error, words, code, consumed) => {
        const failure = classifyS3Error(error, (text) => text.replaceAll('hunter2hunter2', '[secret]'));
        expect(failure.detail).toMatch(ONE_LINE);
        const verdict = classifyFailure(
          { message: words, response: words, responseCode: code, command: 'DATA', code: 'EMESSAGE' },
          consumed,
          (text) => text,
        );
        // A message that was sent is resent only if the server said so.
        if (consumed && verdict.kind === 'deferred') expect(code >= 400 && code < 500).toBe(true);
        expect('why' in verdict ? verdict.why : verdict.response).toMatch(ONE_LINE);
      }),
      cases(1_000),
    );
  },
  within(2),
);

/** A mail server that sends one of these lines per step, then closes. */
async function babblingSmtp(): Promise<{
  readonly url: string;
  says(lines: readonly string[]): void;
  close(): Promise<void>;
}> {
  let script: readonly string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    const lines = [...script];
    const next = (): void => {
      const line = lines.shift();
      if (line === undefined) socket.destroy();
      else socket.write(line);
    };
    next();
    socket.on('data', next);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `smtp://127.0.0.1:${address.port}?tls=off`,
    says: (lines) => {
      script = lines;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test(
  'any reply of a mail server makes a message accepted, refused, deferred or unknown',
  async () => {
    const server = await babblingSmtp();
    const mailer = smtpMailer(new Secret(server.url), { timeouts: { total: 1_000 } });
    onTestFinished(async () => {
      await mailer.close();
      await server.close();
    });
    const GOOD = [
      '220 a ESMTP\r\n',
      '250-a\r\n250 SIZE 1000000\r\n',
      '250 Ok\r\n',
      '250 Ok\r\n',
      '354 Go on\r\n',
      '250 Queued\r\n',
    ];
    const WORDS = [
      '\r\n',
      '250 ',
      '250-',
      '354 ',
      '421 ',
      '550 ',
      '999 ',
      '000 ',
      '334 ',
      '250-AUTH PLAIN\r\n',
      '\0',
      '9'.repeat(300),
      'SIZE 1',
      'SIZE x',
      '220 ',
    ];
    const talk = fc
      .tuple(
        fc.nat({ max: 5 }),
        mutatedText(['250 Ok\r\n', '550 No\r\n', '451 Later\r\n', '421 Bye\r\n', '250-a\r\n250 b\r\n'], WORDS),
      )
      .map(([at, line]) => [...GOOD.slice(0, at), line, ...GOOD.slice(at + 1)]);
    const raw = Buffer.from('Subject: a\r\n\r\nb\r\n');
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(talk, async (lines) => {
        server.says(lines);
        const result = await mailer.send({ from: 'a@docket.example', to: 'b@acme.example' }, raw, never);
        seen.add(result.kind);
        expect('why' in result ? result.why : result.response).toMatch(ONE_LINE);
      }),
      cases(120),
    );
    if (ALL_CASES) expect([...seen].sort()).toEqual(['accepted', 'deferred', 'refused', 'unknown']);
  },
  within(20),
);
