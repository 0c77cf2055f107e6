import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, expect, inject, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { redisLastSentFigures } from '../../src/deliver/last-sent-figures.ts';
import { INTERRUPTED } from '../../src/deliver/ledger/ledger.ts';
import { definitionWith, folderFor, ORDER, SETTINGS, sealedRun } from '../support/delivery-case.ts';
import { type ScriptedSmtp, scriptedSmtp } from '../support/smtp-script.ts';

const redis = new Redis(inject('redisUrl'));
const prefix = `test-sigkill-${process.pid}:`;
afterAll(async () => {
  const keys = await redis.keys(`${prefix}*`);
  if (keys.length > 0) await redis.del(...keys);
  redis.disconnect();
});

const outputSchema = z.object({
  calls: z.number(),
  receipts: z.array(z.object({ state: z.string(), detail: z.string().nullable() })),
});

interface Kill {
  readonly at: number;
  readonly when: 'before' | 'after';
}

let worlds = 0;
/** A sealed run, a mail server, a ledger, and a way to start and kill workers. */
async function world(server: ScriptedSmtp, remembered: object = {}) {
  onTestFinished(() => server.close());
  const root = await folderFor(onTestFinished);
  await sealedRun(root);
  const own = `${prefix}${worlds++}:`;
  const start = (kill: Kill | null): ChildProcess => {
    const reported = {
      archive: pathToFileURL(join(root, 'archive')).href,
      smtp: server.url,
      redis: inject('redisUrl'),
      prefix: own,
      kill,
      remembered,
      order: ORDER,
      definition: definitionWith([{ email: { to: ['lead@acme.example'], attach: ['csv'] } }]),
      settings: SETTINGS,
    };
    return spawn(process.execPath, [join(inject('children'), 'deliver-child.mjs'), JSON.stringify(reported)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  };
  const killed = async (child: ChildProcess) => {
    const [, signal] = await once(child, 'exit');
    expect(signal).toBe('SIGKILL');
  };
  const completes = async () => {
    const child = start(null);
    const [output] = await Promise.all([child.stdout === null ? '' : text(child.stdout), once(child, 'exit')]);
    return outputSchema.parse(JSON.parse(output));
  };
  const taken = () => server.conversations.filter(({ accepted }) => accepted).length;
  return { start, killed, completes, taken, own };
}

test('a worker that is killed before or after any call and then restarted loses nothing and sends nothing twice', async () => {
  // Count the calls of the second delivery: the first one also loads the ledger's scripts into Redis.
  await (await world(await scriptedSmtp({}))).completes();
  const { calls } = await (await world(await scriptedSmtp({}))).completes();
  expect(calls).toBeGreaterThan(6);
  const ends: string[] = [];
  for (let at = 0; at < calls; at += 1) {
    for (const when of ['before', 'after'] as const) {
      const { start, killed, completes, taken } = await world(await scriptedSmtp({}));
      await killed(start({ at, when }));
      const { receipts } = await completes();
      expect(receipts).toHaveLength(1);
      const state = receipts[0]!.state;
      ends.push(state);
      if (state === 'sent') expect(taken()).toBe(1);
      else {
        expect(state).toBe('unknown');
        expect(taken()).toBeLessThanOrEqual(1);
      }
    }
  }
  // A kill between the ledger's `sending` and the second entry in the archive leaves the delivery unknown. There are ten
  // such places: after begin, around the first entry in the archive, around send and the two confirmations in it, and
  // before the second entry.
  expect(ends.filter((state) => state === 'unknown')).toHaveLength(10);
});

test('a worker that is killed before the mail server replies leaves an unknown delivery, and nobody sends a second message', async () => {
  let child: ChildProcess | undefined;
  const server = await scriptedSmtp({ dot: { meanwhile: () => child?.kill('SIGKILL') } });
  const { start, killed, completes, taken } = await world(server);
  child = start(null);
  await killed(child);
  const { receipts } = await completes();
  expect(receipts).toMatchObject([{ state: 'unknown', detail: INTERRUPTED }]);
  expect(taken()).toBe(1);
  expect(server.conversations).toHaveLength(1);
});

test('a worker that is killed while it records the sent figures never makes a later run count other figures as unchanged', async () => {
  const recipient = 'lead@acme.example';
  const remembered = {
    figures: 'new',
    conditions: [{ target: '0-email', recipient, send_if: 'changed', send: true, reason: 'The figures differ.' }],
  };
  const place = { org: ORDER.org, report: ORDER.report, target: '0-email', recipient };
  const before = { figures: 'old', run: 'the one before', at: 1 };
  const aWorld = async () => {
    const one = await world(await scriptedSmtp({}), remembered);
    const known = redisLastSentFigures(redis, { prefix: one.own });
    await known.recordSent(place, before);
    return { ...one, last: () => known.last(place) };
  };
  const undisturbed = await aWorld();
  const { calls } = await undisturbed.completes();
  expect(await undisturbed.last()).toMatchObject({ sent: { figures: 'new', run: ORDER.id }, uncertainRun: undefined });
  const seen = new Set<string>();
  for (let at = 0; at < calls; at += 1) {
    for (const when of ['before', 'after'] as const) {
      const { start, killed, completes, taken, last } = await aWorld();
      await killed(start({ at, when }));
      // Another run decides before this one continues. It may only rely on figures that were really sent.
      const { sent, uncertainRun } = await last();
      if (uncertainRun === undefined) expect(sent?.figures).toBe(taken() === 0 ? 'old' : 'new');
      seen.add(uncertainRun === undefined ? (sent?.figures ?? '') : 'doubt');
      const { receipts } = await completes();
      const end = await last();
      if (receipts[0]?.state === 'sent')
        expect(end).toMatchObject({ sent: { figures: 'new' }, uncertainRun: undefined });
      else expect(end).toEqual({ sent: before, uncertainRun: ORDER.id });
    }
  }
  expect(seen).toEqual(new Set(['old', 'doubt', 'new']));
});
