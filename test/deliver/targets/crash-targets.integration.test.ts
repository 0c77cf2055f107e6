import { expect, onTestFinished, test } from 'vitest';
import { secretSource } from '../../../src/base/secrets/secret.ts';
import { deliver } from '../../../src/deliver/deliver.ts';
import { Crash, type CrashPlan, crashing } from '../../support/crash.ts';
import { definitionWith, deliverInput, folderFor, SETTINGS, sealedRun } from '../../support/delivery-case.ts';
import { hostileServer } from '../../support/hostile-server.ts';
import { memoryLedger } from '../../support/memory-ledger.ts';
import { ACCESS_KEY_ID, SECRET_ACCESS_KEY, s3Server } from '../../support/s3-server.ts';
import { SFTP_PASSWORD, SFTP_USER, sftpServer } from '../../support/sftp-server.ts';

const FILES = { 'a.xlsx': 'workbook', 'b.csv': 'alerts\r\n3\r\n' };

/** A run to a bucket, an SFTP folder and a webhook. It dies as planned and is then started again twice. */
async function diesAndIsStartedAgain(plan: CrashPlan | undefined) {
  const [store, sftp, hook] = await Promise.all([s3Server(), sftpServer(), hostileServer()]);
  hook.behave((_request, response) => void response.writeHead(204).end());
  const root = await folderFor(onTestFinished);
  const { archive, published } = await sealedRun(root, FILES);
  const ledger = memoryLedger();
  const input = deliverInput({
    definition: definitionWith([
      { webhook: { url: hook.url, secret: { env: 'HOOK' }, idempotent: false } },
      {
        s3: {
          bucket: store.bucket,
          key: '{{ file.name }}',
          endpoint: store.url,
          credentials: { access_key_id: { env: 'ID' }, secret_access_key: { env: 'SECRET' } },
          tags: true,
          overwrite: false,
        },
      },
      {
        sftp: {
          host: '127.0.0.1',
          port: sftp.port,
          user: SFTP_USER,
          password: { env: 'PASSWORD' },
          host_key: [sftp.fingerprint],
          path: 'in',
          mkdir: false,
          overwrite: false,
        },
      },
    ]),
    settings: { ...SETTINGS, allow_private: true },
    secrets: secretSource({
      HOOK: `whsec_${Buffer.alloc(32, 'k').toString('base64')}`,
      ID: ACCESS_KEY_ID,
      SECRET: SECRET_ACCESS_KEY,
      PASSWORD: SFTP_PASSWORD,
    }),
    published,
    mail: undefined,
    ledger,
    archive,
    workingDirectory: root,
  });
  const { guard, calls } = crashing(plan);
  const first = deliver({ ...input, ledger: guard(ledger), archive: guard(archive) });
  if (plan === undefined) await first;
  else await expect(first).rejects.toBeInstanceOf(Crash);
  const second = await deliver(input);
  const third = await deliver(input);
  const puts = store.requests.filter(({ method }) => method === 'PUT').length;
  const stored = Object.fromEntries([...store.objects].map(([key, { bytes }]) => [key, bytes.toString()]));
  const uploaded = Object.fromEntries([...sftp.files].map(([path, { bytes }]) => [path.slice(3), bytes.toString()]));
  await Promise.all([store.close(), sftp.close(), hook.close()]);
  return { second, third, calls: calls(), puts, stored, uploaded, posted: hook.requests.length };
}

test('a crash before or after any step of a run to every kind of server loses nothing and sends nothing twice', async () => {
  const { calls: steps } = await diesAndIsStartedAgain(undefined);
  expect(steps.filter((step) => step === 'begin')).toHaveLength(3);
  const unknown = new Set<string>();
  for (const [at, step] of steps.entries()) {
    for (const when of ['before', 'after'] as const) {
      const { second, third, puts, stored, uploaded, posted } = await diesAndIsStartedAgain({ at, when });
      const because = `${when} ${step} (${at})`;
      expect(third, because).toEqual(second);
      const state = Object.fromEntries(second.receipts.map(({ target, state }) => [target, state]));
      // A store can always be checked for the objects.
      expect(state['1-s3'], because).toBe('sent');
      expect(stored, because).toEqual(FILES);
      expect(puts, because).toBe(2);
      expect(['sent', 'unknown'], because).toContain(state['2-sftp']);
      if (state['2-sftp'] === 'sent') expect(uploaded, because).toEqual(FILES);
      else expect(uploaded, because).toEqual({});
      expect(['sent', 'unknown'], because).toContain(state['0-webhook']);
      expect(posted, because).toBeLessThanOrEqual(1);
      if (state['0-webhook'] === 'sent') expect(posted, because).toBe(1);
      for (const [target, one] of Object.entries(state)) if (one === 'unknown') unknown.add(target);
    }
  }
  expect(unknown).toEqual(new Set(['0-webhook', '2-sftp']));
});
