import { isIP } from 'node:net';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { parseArchiveUrl } from '../../src/base/config/archive-url.ts';
import { type Config, readConfig } from '../../src/base/config/config.ts';
import { parseRedisUrl } from '../../src/base/config/redis-url.ts';
import { findPathError, renderPath, safeFileName } from '../../src/base/files/safe-path.ts';
import { sanitizeLogText } from '../../src/base/log.ts';
import { parseAddressList } from '../../src/base/net/address-list.ts';
import { isPrivateAddress } from '../../src/base/net/private-address.ts';
import { parseRetryAfter } from '../../src/base/net/retry-after.ts';
import { Secret, secretRefSchema } from '../../src/base/secrets/secret.ts';
import { parseSmtpUrl } from '../../src/deliver/targets/email/smtp/smtp-url.ts';
import { parseWebhookSecret } from '../../src/deliver/targets/webhook/webhook-message.ts';
import {
  cases,
  expectCleanPrototypes,
  HOSTILE_FRAGMENTS,
  hostileText,
  least,
  mutatedText,
  readOrUndefined,
  within,
} from '../support/fuzz.ts';

/** Valid values of each variable, which the fuzzer changes in a few places. */
const RIGHT: Readonly<Record<string, readonly string[]>> = {
  COMPLIANCE_API_URL: ['https://api.example.com/prefix', 'http://[::1]:8080'],
  REDIS_URL: [
    'redis://user:p%40ss@127.0.0.1:6379/1',
    'rediss://redis.example',
    'redis+sentinel://me:a%3Ab@a:1,b,[::1]:3/mymaster/4?sentinel_username=s&sentinel_password=t%26u',
    'redis+cluster://:secret@a,b:7000',
  ],
  SMTP_URL: ['smtp://user:pass%20word@mail.example.com:587?tls=required', 'smtps://mail.example.com'],
  MAIL_FROM: ['reports@acme.example'],
  SMTP_OAUTH2_USER: ['box@acme.example'],
  SMTP_OAUTH2_TOKEN_URL: ['https://login.example/oauth2/token'],
  SMTP_OAUTH2_CLIENT_ID: ['id'],
  SMTP_OAUTH2_CLIENT_SECRET_FILE: ['/run/secrets/a'],
  SMTP_OAUTH2_SCOPE: ['a b'],
  SMTP_DKIM_DOMAIN: ['acme.example'],
  SMTP_DKIM_SELECTOR: ['docket'],
  SMTP_DKIM_KEY_FILE: ['/run/secrets/b'],
  DOCKET_ARCHIVE: [
    'file:///var/lib/docket',
    's3://reports/docket?endpoint=https://minio.example:9000&sse=AES256&links=false&access_key_id=env:A&secret_access_key=file:/b',
  ],
  DOCKET_ARCHIVE_DAYS: ['400'],
  DOCKET_SIGNING_KEY: ['env:SIGNING_KEY', 'file:/run/secrets/signing'],
  DOCKET_ADMIN_HOST: ['127.0.0.1'],
  DOCKET_ADMIN_PORT: ['8787', '0'],
  DOCKET_ADMIN_NAMES: ['docket.example.com, other.example'],
  DOCKET_ADMIN_TRUSTED_PROXIES: ['10.0.0.0/8, ::1, 192.168.1.1'],
  DOCKET_ADMIN_RATE: ['600'],
  DOCKET_ADMIN_BULL_BOARD: ['on'],
  LOG_LEVEL: ['debug'],
  LOG_FORMAT: ['json'],
};
const URL_WORDS = [
  '@',
  ':',
  '/',
  '//',
  '?',
  '#',
  '%',
  '%zz',
  '%00',
  '%2F',
  'file:',
  's3:',
  'redis:',
  'smtp:',
  '[::1]',
  '..',
  '&tls=off',
  '?db=x',
  ':99999',
  ':0',
  '-1',
  '1e3',
  '0x1f',
];

describe('the environment', () => {
  const variable = fc
    .constantFrom(...Object.keys(RIGHT))
    .chain((name) => fc.tuple(fc.constant(name), mutatedText(RIGHT[name] ?? [], URL_WORDS)));

  test(
    'gives a usable configuration or errors that name their variables',
    () => {
      let read = 0;
      fc.assert(
        fc.property(fc.array(variable, { maxLength: 4 }), (given) => {
          const env = Object.fromEntries(given);
          const config: Config | undefined = readOrUndefined(() => readConfig(env), env);
          expectCleanPrototypes();
          if (config === undefined) return;
          read += 1;
          const place = parseRedisUrl(config.REDIS_URL);
          expect(typeof place).toBe('object');
          if (typeof place === 'object' && place.kind === 'server') {
            // ioredis accepts it, with a number as the database.
            const redis = new Redis(place.url, { lazyConnect: true });
            redis.disconnect();
            expect(Number.isInteger(Number(redis.options.db))).toBe(true);
          }
          if (config.COMPLIANCE_API_URL !== undefined) expect(new URL(config.COMPLIANCE_API_URL).password).toBe('');
          for (const number of [config.DOCKET_ADMIN_PORT, config.DOCKET_ADMIN_RATE, config.DOCKET_ARCHIVE_DAYS ?? 7])
            expect(Number.isInteger(number)).toBe(true);
          const archive = config.DOCKET_ARCHIVE;
          if (archive?.kind === 'directory') expect(archive.folder).toMatch(/^\/[^\0]*$/);
        }),
        cases(1_000),
      );
      expect(read).toBeGreaterThan(least(100));
    },
    within(3),
  );

  test(
    'gives errors that never contain a password',
    () => {
      const secret = 'hunter2hunter2';
      const url = fc.oneof(
        ...['redis', 'redis+sentinel', 'redis+cluster', 'smtp', 'smtps', 'https', 's3'].map((scheme) =>
          mutatedText([`${scheme}://me:${secret}@a:1/b?c=d`], URL_WORDS),
        ),
      );
      fc.assert(
        fc.property(
          fc.constantFrom('REDIS_URL', 'SMTP_URL', 'COMPLIANCE_API_URL', 'DOCKET_ARCHIVE'),
          url,
          (name, text) => {
            try {
              readConfig({ [name]: text });
            } catch (thrown) {
              if (text.includes(`:${secret}@`)) expect(String(thrown)).not.toContain(secret);
            }
          },
        ),
        cases(1_000),
      );
    },
    within(2),
  );
});

test(
  'URLs of mail servers, secrets of webhooks and references to secrets are valid or refused',
  () => {
    const key = `whsec_${'A'.repeat(44)}`;
    fc.assert(
      fc.property(
        mutatedText(RIGHT.SMTP_URL ?? [], URL_WORDS),
        mutatedText([key]),
        hostileText(),
        (url, text, name) => {
          const server = readOrUndefined(() => parseSmtpUrl(new Secret(url)), url);
          if (server !== undefined) {
            expect(server.host).not.toBe('');
            expect(Number.isInteger(server.port)).toBe(true);
          }
          const bytes = readOrUndefined(() => parseWebhookSecret(new Secret(text)), text);
          if (bytes !== undefined) expect(bytes.length).toBeGreaterThanOrEqual(24);
          const ref = secretRefSchema.safeParse({ env: name });
          if (ref.success) expect(name).toMatch(/^\w+$/);
        },
      ),
      cases(1_000),
    );
  },
  within(2),
);

test(
  'parsers of archive URLs and addresses never throw',
  () => {
    fc.assert(
      fc.property(
        mutatedText(RIGHT.DOCKET_ARCHIVE ?? [], URL_WORDS),
        mutatedText(['10.0.0.0/8, ::1', '127.0.0.1'], ['/33', '/129', '%eth0', '::ffff:10.0.0.1']),
        (place, list) => {
          const read = parseArchiveUrl(place);
          if (!('kind' in read))
            for (const { expected, got } of read) expect(`${expected}${got}`).not.toMatch(/undefined|\[object/);
          const addresses = parseAddressList(list);
          if ('has' in addresses) expect(addresses.has('8.8.8.8') || addresses.has('nonsense') || true).toBe(true);
          // A text that is no address counts as private, so that nothing connects to it.
          if (isIP(list.replace(/%.*$/, '')) === 0) expect(isPrivateAddress(list)).toBe(true);
        },
      ),
      cases(1_000),
    );
  },
  within(2),
);

test(
  'any Retry-After header gives a wait of at most an hour, or is ignored',
  () => {
    const header = fc.oneof(
      mutatedText(
        ['120', '0.5', 'Wed, 21 Oct 2026 07:28:00 GMT', 'Wednesday, 21-Oct-26 07:28:00 GMT'],
        ['9'.repeat(400), '-', 'e', 'Infinity', '275761'],
      ),
      hostileText(3),
    );
    fc.assert(
      fc.property(
        fc.option(header, { nil: undefined }),
        fc.option(header, { nil: undefined }),
        fc.integer(),
        (after, date, now) => {
          const wait = parseRetryAfter(after, date, now);
          if (wait !== undefined) expect(wait >= 0 && wait <= 3_600_000, `${after} ${date}`).toBe(true);
        },
      ),
      cases(2_000),
    );
  },
  within(2),
);

describe('any text gives', () => {
  test(
    'a safe file name, which stays the same when made safe again',
    () => {
      fc.assert(
        fc.property(
          fc.oneof(hostileText(8), fc.string({ unit: 'grapheme', maxLength: 300 })),
          fc.constantFrom('.csv', '.schema.json', ''),
          (stem, extension) => {
            const name = safeFileName(stem, extension);
            expect(name).not.toMatch(/[/\\:*?"<>|\p{Cc}\p{Cs}\u202e]/u);
            expect(findPathError(name) === undefined || extension === '', name).toBe(true);
            expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
            expect(safeFileName(name.slice(0, name.length - extension.length), extension)).toBe(name);
          },
        ),
        cases(1_500),
      );
    },
    within(3),
  );

  test(
    'a path inside its folder, or is refused',
    () => {
      fc.assert(
        fc.property(
          mutatedText(['{{ org }}/{{ period.from }}/{{ file.name }}', 'in/{{ title }}'], [...HOSTILE_FRAGMENTS]),
          hostileText(),
          hostileText(3),
          (template, title, name) => {
            const variables = { org: 'acme', title, period: { from: '2026-11-09' }, file: { name } };
            const path = readOrUndefined(() => renderPath(template, variables, 'deliveries[].s3.key'), {
              template,
              title,
              name,
            });
            if (path !== undefined) expect(path.split('/')).not.toContain('..');
            expectCleanPrototypes();
          },
        ),
        cases(1_000),
      );
    },
    within(3),
  );

  test(
    'one log line that cannot control a terminal',
    () => {
      fc.assert(
        fc.property(hostileText(12), (text) => {
          const shown = sanitizeLogText(text);
          expect(shown).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202e\u2066]/u);
          expect(shown.length).toBeLessThanOrEqual(12 * text.length + 1);
        }),
        cases(1_500),
      );
    },
    within(2),
  );
});
