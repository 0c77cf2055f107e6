import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { readConfig } from '../../../../src/base/config/config.ts';
import { createScope } from '../../../../src/base/scope.ts';
import {
  assertMailSecrets,
  createMailRoutes,
  deploymentSmtp,
  resolveMailServer,
} from '../../../../src/deliver/targets/email/mail-routes.ts';
import { folderFor, SETTINGS } from '../../../support/delivery-case.ts';

const KEY = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });

/** A deployment with OAuth2 login and DKIM, and its secrets in files. */
async function deployment(change: Readonly<Record<string, string | undefined>> = {}) {
  const root = await folderFor(onTestFinished);
  const secret = join(root, 'secret');
  const key = join(root, 'dkim.pem');
  await writeFile(secret, 's3cret\n');
  await writeFile(key, KEY);
  const env: Record<string, string | undefined> = {
    SMTP_URL: 'smtp://mail.example.com:587',
    MAIL_FROM: 'reports@mail.docket.example',
    SMTP_OAUTH2_USER: 'reports@docket.example',
    SMTP_OAUTH2_TOKEN_URL: 'https://login.example.com/token',
    SMTP_OAUTH2_CLIENT_ID: 'docket',
    SMTP_OAUTH2_CLIENT_SECRET_FILE: secret,
    SMTP_DKIM_DOMAIN: 'docket.example',
    SMTP_DKIM_SELECTOR: 's1',
    SMTP_DKIM_KEY_FILE: key,
    ...change,
  };
  return { env, secret, key };
}

test('the deployment’s mail server uses OAuth2 and DKIM of the environment', async () => {
  const { env } = await deployment();
  const config = readConfig(env);
  const around = { config, env, clock: systemClock };
  await assertMailSecrets(around);
  const server = await resolveMailServer({}, around);
  expect(server?.options.oauth2?.user).toBe('reports@docket.example');
  // No name and no other field contains a secret.
  expect(JSON.stringify([server, deploymentSmtp(config)])).not.toContain('s3cret');
  const scope = createScope();
  onTestFinished(() => scope.close());
  const routes = createMailRoutes(around, scope);
  expect(await routes(SETTINGS)).toMatchObject({
    from: 'reports@mail.docket.example',
    dkim: { domain: 'docket.example', selector: 's1' },
  });
  // The key does not apply to senders of other domains.
  expect((await routes({ ...SETTINGS, smtp: { from: 'kpi@acme.example' } }))?.dkim).toBeUndefined();
  expect((await routes({ ...SETTINGS, smtp: { from: 'kpi@notdocket.example' } }))?.dkim).toBeUndefined();
});

test('an organization’s mail server does not get the deployment’s token', async () => {
  const { env } = await deployment({ OWN: 'smtp://mail.acme.example:587' });
  const around = { config: readConfig(env), env, clock: systemClock };
  const server = await resolveMailServer({ smtp: { url: { env: 'OWN' } } }, around);
  expect(server?.options.oauth2).toBeUndefined();
});

test('a token is requested only when needed, with the secrets in files', async () => {
  const requested: string[] = [];
  const tokens = createServer();
  tokens.on('tlsClientError', () => requested.push('tls'));
  await new Promise<void>((resolve) => tokens.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void tokens.close());
  const url = `https://127.0.0.1:${(tokens.address() as AddressInfo).port}/token`;
  const { env } = await deployment({ SMTP_OAUTH2_TOKEN_URL: url });
  const server = await resolveMailServer({}, { config: readConfig(env), env, clock: systemClock });
  expect(requested).toEqual([]);
  await expect(server?.options.oauth2?.tokens({ renew: false })).rejects.toMatchObject({
    code: 'deliver.target_failed',
  });
  expect(requested).toEqual(['tls']);
});

test.each<[string, Record<string, string | undefined>, string[]]>([
  [
    'an incomplete login and signature',
    {
      SMTP_URL: undefined,
      SMTP_OAUTH2_USER: undefined,
      SMTP_OAUTH2_CLIENT_SECRET_FILE: undefined,
      SMTP_DKIM_SELECTOR: '',
    },
    [
      'SMTP_URL',
      'SMTP_OAUTH2_USER',
      'SMTP_OAUTH2_CLIENT_SECRET_FILE or SMTP_OAUTH2_REFRESH_TOKEN_FILE',
      'SMTP_DKIM_SELECTOR',
    ],
  ],
  [
    'invalid values, also of other variables',
    { SMTP_OAUTH2_TOKEN_URL: 'http://login.example.com', SMTP_DKIM_DOMAIN: 'Docket.example', DOCKET_ADMIN_PORT: 'x' },
    ['SMTP_OAUTH2_TOKEN_URL', 'SMTP_DKIM_DOMAIN', 'DOCKET_ADMIN_PORT'],
  ],
  [
    'a signature of another domain than that of the sender',
    { MAIL_FROM: 'reports@other.example' },
    ['SMTP_DKIM_DOMAIN'],
  ],
])('invalid variables are all reported at once: %s', async (_, change, variables) => {
  const { env } = await deployment(change);
  expect(() => readConfig(env)).toThrow(expect.objectContaining({ code: 'config.invalid' }));
  let message = '';
  try {
    readConfig(env);
  } catch (error) {
    message = String(error);
  }
  const reported = message.split('\n').flatMap((line) => /^ {2}([^:]+): expected /.exec(line)?.[1] ?? []);
  // A variable can have several errors.
  expect([...new Set(reported)].sort()).toEqual([...variables].sort());
});

test('invalid secret files are all reported at start, without their content', async () => {
  const { env, secret, key } = await deployment();
  await writeFile(secret, '');
  await writeFile(key, 'pass-phrase-of-somebody');
  const around = { config: readConfig(env), env };
  const refused = assertMailSecrets(around);
  await expect(refused).rejects.toMatchObject({ code: 'config.invalid' });
  const message = await refused.catch(String);
  expect(message).toContain('SMTP_OAUTH2_CLIENT_SECRET_FILE: ');
  expect(message).toContain('SMTP_DKIM_KEY_FILE: ');
  expect(message).not.toContain('pass-phrase');
});

test('a rotated secret opens a new mailer, and the old one closes after its messages', async () => {
  const { env, secret } = await deployment();
  const own = `${secret}-url`;
  await writeFile(own, 'smtp://me:before@mail.acme.example');
  const opened: { readonly url: string; retired: boolean; closed: boolean; idle(): void }[] = [];
  const open: Parameters<typeof createMailRoutes>[2] = (url) => {
    let idle = () => {};
    const left = new Promise<void>((resolve) => {
      idle = resolve;
    });
    const mailer = { url: url.reveal(), retired: false, closed: false, idle };
    opened.push(mailer);
    return {
      send: async () => ({ kind: 'accepted', response: '250' }),
      drain: () => {
        mailer.retired = true;
        return left;
      },
      close: async () => {
        mailer.closed = true;
      },
    };
  };
  const scope = createScope();
  const routes = createMailRoutes({ config: readConfig(env), env, clock: systemClock }, scope, open);
  const acme = { ...SETTINGS, smtp: { url: { file: own } } };
  const retired = () => opened.map((mailer) => mailer.retired);

  const before = await routes(acme);
  const shared = await routes(SETTINGS);
  expect((await routes(acme))?.mailer).toBe(before?.mailer);
  // Another sender on the same server.
  expect((await routes({ ...acme, smtp: { ...acme.smtp, from: 'kpi@acme.example' } }))?.mailer).toBe(before?.mailer);
  expect(retired()).toEqual([false, false]);

  await writeFile(own, 'smtp://me:after@mail.acme.example');
  const after = await routes(acme);
  expect(after?.mailer).not.toBe(before?.mailer);
  expect(after?.service).not.toBe(before?.service);
  expect((await routes(acme))?.mailer).toBe(after?.mailer);
  expect((await routes(SETTINGS))?.mailer).toBe(shared?.mailer);
  expect(opened.map(({ url }) => url.includes('after'))).toEqual([false, false, true]);
  expect(retired()).toEqual([true, false, false]);

  // The deployment's own mailer, whose login is in a file.
  await writeFile(secret, 'an0ther');
  expect((await routes(SETTINGS))?.mailer).not.toBe(shared?.mailer);
  expect(retired()).toEqual([true, true, false, false]);

  // The scope closes mailers that are still in use. The idle one has already closed.
  opened[0]?.idle();
  await new Promise((resolve) => setImmediate(resolve));
  await scope.close();
  expect(opened.map(({ closed }) => closed)).toEqual([false, true, true, true]);
});
