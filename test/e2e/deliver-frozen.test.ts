import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, expect, inject, onTestFinished, test } from 'vitest';
import { redisLedger } from '../../src/deliver/ledger/redis-ledger.ts';
import { definitionWith, folderFor, ORDER, SETTINGS, sealedRun } from '../support/delivery-case.ts';
import { scriptedSmtp } from '../support/smtp-script.ts';

const redis = new Redis(inject('redisUrl'));
const prefix = `test-frozen-${process.pid}:`;
afterAll(async () => {
  const keys = await redis.keys(`${prefix}*`);
  if (keys.length > 0) await redis.del(...keys);
  redis.disconnect();
});

test('a worker frozen at DATA sends nothing after somebody resent the message', async () => {
  const root = await folderFor(onTestFinished);
  await sealedRun(root);
  const ledger = redisLedger(redis, { prefix, ttlDays: 1 });
  let goOn = () => {};
  let frozen: ChildProcess | undefined;
  let isStopped = () => {};
  const stopped = new Promise<void>((resolve) => {
    isStopped = resolve;
  });
  const meanwhile = (resume: () => void) => {
    frozen?.kill('SIGSTOP');
    goOn = resume;
    isStopped();
  };
  const { url, conversations, close } = await scriptedSmtp((connection) =>
    connection === 0 ? { DATA: { meanwhile } } : {},
  );
  onTestFinished(() => close());
  const worker = (): ChildProcess => {
    const reported = {
      archive: pathToFileURL(join(root, 'archive')).href,
      smtp: url,
      redis: inject('redisUrl'),
      prefix,
      kill: null,
      order: ORDER,
      definition: definitionWith([{ email: { to: ['lead@acme.example'], attach: ['csv'] } }]),
      settings: SETTINGS,
    };
    const child = spawn(process.execPath, [join(inject('children'), 'deliver-child.mjs'), JSON.stringify(reported)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };
  const ended = (child: ChildProcess) =>
    Promise.all([child.stdout === null ? '' : text(child.stdout), once(child, 'exit')]);

  frozen = worker();
  const first = ended(frozen);
  await stopped;
  // Another worker takes over the run and finds the delivery interrupted. A person resends it, and it arrives.
  await ended(worker());
  const [found] = await ledger.list(ORDER.id);
  expect(found).toMatchObject({ state: 'unknown', epoch: 1 });
  const decision = { to: 'pending', by: 'ada', reason: 'never arrived', at: Date.now() } as const;
  await ledger.resolve(found?.id ?? '', 1, decision);
  await ended(worker());
  expect(await ledger.list(ORDER.id)).toMatchObject([{ state: 'sent', epoch: 3 }]);

  frozen.kill('SIGCONT');
  goOn();
  await first;
  expect(conversations.map(({ ended: whole, body }) => [whole, body.length > 0])).toEqual([
    [false, false],
    [true, true],
  ]);
  expect(await ledger.list(ORDER.id)).toMatchObject([{ state: 'sent', epoch: 3 }]);
});
