import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { expect, inject, type TestContext, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/base/clock.ts';
import { createArchive } from '../../src/deliver/archive/create-archive.ts';
import { archiveUrl, bucketStorage, STORE_ENV } from '../support/archives.ts';
import { definitionWith, folderFor, ORDER, SETTINGS, sealedRun } from '../support/delivery-case.ts';
import { type RestartableRedis, restartableRedis } from '../support/restartable-redis.ts';
import { s3Server } from '../support/s3-server.ts';
import { type ScriptedSmtp, scriptedSmtp } from '../support/smtp-script.ts';

const TO = ['a@acme.example', 'b@acme.example'];

type OnEnd = TestContext['onTestFinished'];

/** A Redis that a test may flush and kill, because the tests run concurrently. */
async function aRedis(onEnd: OnEnd): Promise<RestartableRedis> {
  const redis = await restartableRedis();
  onEnd(() => redis.close());
  return redis;
}

const outputSchema = z.object({
  calls: z.number(),
  receipts: z.array(z.object({ recipient: z.string(), state: z.string() })),
});

interface Kill {
  readonly at: number;
  readonly when: 'before' | 'after';
}

type Open = (root: string, onEnd: OnEnd) => Promise<string>;

/** A sealed run in its own archive with its `DOCKET_ARCHIVE`, and the number of steps between two kills. */
const ARCHIVES: readonly { readonly where: string; readonly open: Open; readonly apart: number }[] = [
  {
    where: 'a directory',
    open: async (root) => {
      await sealedRun(root);
      return pathToFileURL(join(root, 'archive')).href;
    },
    apart: 1,
  },
  {
    where: 'a bucket',
    open: async (root, onEnd) => {
      const store = await s3Server();
      onEnd(() => store.close());
      const url = archiveUrl(store, join(root, 'staging'));
      const storage = bucketStorage(url);
      await sealedRun(root, undefined, createArchive(storage, systemClock));
      storage.close();
      return url;
    },
    // Kills only at every fourth step, because loading the SDK takes long. The unit tests kill at every step.
    apart: 4,
  },
];

let worlds = 0;
/** A sealed run, a mail server, a ledger on disk, and a way to start and kill workers. */
async function world(open: Open, redis: RestartableRedis, onEnd: OnEnd) {
  const server: ScriptedSmtp = await scriptedSmtp({});
  onEnd(() => server.close());
  const root = await folderFor(onEnd);
  const archive = await open(root, onEnd);
  const own = `lost-${worlds++}:`;
  const start = (kill: Kill | null): ChildProcess => {
    const reported = {
      archive,
      smtp: server.url,
      redis: redis.url,
      prefix: own,
      kill,
      order: ORDER,
      definition: definitionWith([{ email: { to: TO, attach: ['csv'] } }]),
      settings: SETTINGS,
    };
    return spawn(process.execPath, [join(inject('children'), 'deliver-child.mjs'), JSON.stringify(reported)], {
      env: { ...process.env, ...STORE_ENV, NODE_NO_WARNINGS: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  };
  return {
    dies: async (kill: Kill) => {
      const [, signal] = await once(start(kill), 'exit');
      expect(signal).toBe('SIGKILL');
    },
    completes: async () => {
      const child = start(null);
      const [output] = await Promise.all([child.stdout === null ? '' : text(child.stdout), once(child, 'exit')]);
      return outputSchema.parse(JSON.parse(output));
    },
    taken: (recipient: string) =>
      server.conversations.filter(
        ({ accepted, commands }) =>
          accepted && commands.some((command) => command.startsWith(`RCPT TO:<${recipient}>`)),
      ).length,
  };
}
type World = Awaited<ReturnType<typeof world>>;

/** Compares the ledger with the messages that the mail server accepted: nothing twice, nothing lost, every doubt recorded. */
function reconciled(receipts: z.infer<typeof outputSchema>['receipts'], { taken }: World, because: string): string[] {
  expect(receipts.map(({ recipient }) => recipient)).toEqual(TO);
  for (const { recipient, state } of receipts) {
    expect(['sent', 'unknown'], because).toContain(state);
    if (state === 'sent') expect(taken(recipient), `${because}: ${recipient}`).toBe(1);
    else expect(taken(recipient), `${because}: ${recipient}`).toBeLessThanOrEqual(1);
  }
  return receipts.map(({ state }) => state);
}

async function calls(start: () => Promise<World>): Promise<number> {
  const whole = await start();
  const { calls: made, receipts } = await whole.completes();
  expect(reconciled(receipts, whole, 'undisturbed')).toEqual(['sent', 'sent']);
  return made;
}

test.concurrent.for(ARCHIVES)(
  'nothing is lost or sent twice when a worker is killed at any step and Redis is flushed before the next one starts (the archive in $where)',
  async ({ open, apart }, { onTestFinished }) => {
    const redis = await aRedis(onTestFinished);
    const start = () => world(open, redis, onTestFinished);
    const steps = await calls(start);
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    const unknown = new Set<string>();
    for (let at = 0; at < steps; at += apart) {
      // "After" one step is usually "before" the next one, so alternate. deliver-sigkill.test.ts kills at both.
      const when = (at / apart) % 2 === 0 ? 'before' : 'after';
      const one = await start();
      await one.dies({ at, when });
      await client.flushall();
      const { receipts } = await one.completes();
      const states = reconciled(receipts, one, `${when} ${at}`);
      if (states.includes('unknown')) unknown.add(`${when} ${at}`);
      // Flush again after the end: now only the archive knows the result.
      await client.flushall();
      expect((await one.completes()).receipts).toEqual(receipts);
    }
    // A kill outside of an attempt leaves no doubt, because the archive knows whether the message began to leave and how
    // that ended. Only kills within an attempt leave doubt, including those during the two confirmations (before the
    // body and before the final dot): about 55 of 100.
    expect(unknown.size).toBeLessThan((0.8 * steps) / apart);
  },
);

test.concurrent.for(ARCHIVES)(
  'nothing is lost or sent twice when a power failure cuts off the end of Redis’ log (the archive in $where)',
  async ({ open }, { onTestFinished }) => {
    const redis = await aRedis(onTestFinished);
    const start = () => world(open, redis, onTestFinished);
    const steps = await calls(start);
    for (const [index, bytes] of [80, 250, 600, 1_500, 1_000_000].entries()) {
      const whole = await start();
      expect(reconciled((await whole.completes()).receipts, whole, 'before the cut')).toEqual(['sent', 'sent']);
      const dying = await start();
      await dying.dies({ at: Math.floor(((index + 1) * steps) / 6), when: 'after' });
      await redis.kill();
      await redis.cutTail(bytes);
      await redis.start();
      expect(reconciled((await whole.completes()).receipts, whole, `${bytes} bytes cut`)).toEqual(['sent', 'sent']);
      reconciled((await dying.completes()).receipts, dying, `${bytes} bytes cut, killed`);
    }
  },
);
