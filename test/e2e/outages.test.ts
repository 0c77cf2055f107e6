import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, expect, onTestFinished, type TestContext, test } from 'vitest';
import { z } from 'zod';
import type { RunRecord } from '../../src/run/run-record.ts';
import { type Fleet, fleet } from '../support/fleet.ts';

/** Concurrent tests need the hooks of their own context. */
type OnEnd = TestContext['onTestFinished'];

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const ORG = `version: 1
org: current
api_key: { env: ACME_KEY }
timezone: Etc/UTC
recipients: { domains: [acme.example] }
`;

const report = (cron: string, more = '') => `version: 1
title: Daily
owner: ops@acme.example
schedule: { cron: "${cron}"${more} }
period: previous_day
sections:
  - id: queue
    metrics: [alerts.open]
outputs:
  - { format: csv }
deliveries:
  - email: { to: [lead@acme.example], attach: [csv] }
`;

const cronAt = (instant: number): string => {
  const at = new Date(instant);
  return `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
};
const wholeMinute = (instant: number): number => Math.floor(instant / MINUTE_MS) * MINUTE_MS;

async function aFleet(reports: Readonly<Record<string, string>>, onEnd: OnEnd = onTestFinished): Promise<Fleet> {
  const files = Object.entries(reports).map(([id, text]) => [`acme/${id}.yaml`, text]);
  const opened = await fleet({ 'acme/org.yaml': ORG, ...Object.fromEntries(files) });
  onEnd(() => opened.close());
  return opened;
}

/** Compares the runs with the messages that the mail server accepted: one for each done run, none for the others. */
async function reconciled(all: Fleet): Promise<void> {
  const runs = await all.runs();
  const taken = (await all.mails()).map(({ run }) => run).sort();
  const sent = runs.filter(({ state }) => state === 'done').map(({ id }) => id);
  expect(taken).toEqual(sent.sort());
}

const slotsOf = (runs: readonly RunRecord[], ...states: string[]): string[] =>
  runs
    .filter(({ state }) => states.includes(state))
    .map(({ slot }) => slot)
    .sort();
const settled = (runs: readonly RunRecord[]) => runs.every(({ state }) => state === 'done' || state === 'skipped');

test('after five days without a process, each slot of the last three days runs once, and older slots are recorded as skipped', async () => {
  const now = Date.now();
  const due = wholeMinute(now - 2 * HOUR_MS);
  const all = await aFleet({ daily: report(cronAt(due), ', catch_up: all') });
  const before = await all.start({ clock: '-5d' });
  await before.ready();
  expect(await before.end('SIGTERM')).toBe(0);
  expect(await all.runs()).toEqual([]);

  const after = await all.start();
  await after.ready();
  const slots = [0, 1, 2, 3, 4].map((days) => new Date(due - days * 24 * HOUR_MS).toISOString()).sort();
  const runs = await all.until((found) => found.length === 5 && settled(found));
  expect(slotsOf(runs, 'done')).toEqual(slots.slice(2));
  expect(slotsOf(runs, 'skipped')).toEqual(slots.slice(0, 2));
  expect(await after.end('SIGTERM')).toBe(0);
  await reconciled(all);
});

test('five processes that start simultaneously open an overdue slot once', async () => {
  const due = wholeMinute(Date.now() - 10 * MINUTE_MS);
  const all = await aFleet({ hourly: report(`${new Date(due).getUTCMinutes()} * * * *`) });
  const before = await all.start({ clock: '-21m' });
  await before.ready();
  expect(await before.end('SIGTERM')).toBe(0);

  const fleetOfFive = await Promise.all([1, 2, 3, 4, 5].map(() => all.start()));
  await Promise.all(fleetOfFive.map((member) => member.ready()));
  await all.until((runs) => runs.length > 0 && settled(runs));
  for (const member of fleetOfFive) expect(await member.end('SIGTERM')).toBe(0);
  const runs = await all.runs();
  expect(slotsOf(runs, 'done')).toEqual([new Date(due).toISOString()]);
  expect(runs).toHaveLength(1);
  await reconciled(all);
});

/** A proxy of the mail server that holds the first message before MAIL FROM until it is released. */
async function holdFirstMessage(port: number, onEnd: OnEnd) {
  let open = () => {};
  let knock = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const knocked = new Promise<void>((resolve) => {
    knock = resolve;
  });
  let first = true;
  const server = createServer(async (client) => {
    const inside = connect(port, '127.0.0.1');
    inside.on('error', () => client.destroy());
    inside.pipe(client);
    try {
      for await (const chunk of client) {
        if (first && /^MAIL FROM/im.test(String(chunk))) {
          first = false;
          knock();
          await opened;
        }
        inside.write(chunk);
      }
    } catch {
      // The killed process closed its connection.
    }
    inside.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: own } = z.object({ port: z.number() }).parse(server.address());
  onEnd(() => {
    server.close();
  });
  return { url: `smtp://127.0.0.1:${own}`, knocked, open };
}

// Both tests mostly wait, for slots and for a lock to expire.
describe.concurrent('concurrent outages', () => {
  test('processes with different and jumping clocks open no slot twice or early', async ({ onTestFinished: onEnd }) => {
    const every = report('* * * * *', ', catch_up: all');
    const all = await aFleet({ minutely: every }, onEnd);
    const slow = await all.start({ clock: '-45' });
    const fast = await all.start({ clock: '+45' });
    await Promise.all([slow.ready(), fast.ready()]);
    const first = await all.until((runs) => runs.length >= 1 && settled(runs));
    for (let jump = 0; jump < 10; jump += 1) {
      await slow.setClock(jump % 2 === 0 ? '-15' : '-75');
      await fast.setClock(jump % 2 === 0 ? '+15' : '+75');
    }
    await slow.setClock('-1h');
    const second = await all.until((runs) => runs.length >= first.length + 1 && settled(runs));
    await slow.setClock('+0');
    await fast.setClock('+0');
    await all.until((runs) => runs.length >= second.length + 1 && settled(runs));
    expect(await slow.end('SIGTERM')).toBe(0);
    expect(await fast.end('SIGTERM')).toBe(0);
    const runs = await all.runs();
    const slots = slotsOf(runs, 'done', 'queued', 'waiting');
    expect(new Set(slots).size).toBe(slots.length);
    // The fastest clock was 75 seconds ahead.
    for (const slot of slots) expect(Date.parse(slot)).toBeLessThanOrEqual(Date.now() + 75_000);
    await reconciled(all);
  });

  test('a frozen worker sends nothing twice when it continues after another worker took over its run', async ({
    onTestFinished: onEnd,
  }) => {
    const due = wholeMinute(Date.now() - 10 * MINUTE_MS);
    const all = await aFleet({ hourly: report(`${new Date(due).getUTCMinutes()} * * * *`) }, onEnd);
    const before = await all.start({ clock: '-21m', args: ['--role', 'scheduler'] });
    await before.ready();
    expect(await before.end('SIGTERM')).toBe(0);

    const way = await holdFirstMessage(Number(new URL(all.mail.url).port), onEnd);
    const stale = await all.start({ env: { SMTP_URL: way.url } });
    await way.knocked;
    stale.process.kill('SIGSTOP');
    const other = await all.start({ args: ['--role', 'worker'], env: { SMTP_URL: way.url } });
    // The lock lasts for half a minute and is checked every half minute.
    const taken = await all.until(([run]) => run !== undefined && run.state !== 'running' && run.state !== 'queued');
    stale.process.kill('SIGCONT');
    way.open();
    await stale.logged(({ msg }) => msg === 'The run was taken over by another worker');
    expect(await stale.end('SIGTERM')).toBe(0);
    expect(await other.end('SIGTERM')).toBe(0);

    expect(taken).toHaveLength(1);
    const [run] = await all.runs();
    expect(run).toMatchObject({ state: 'partly_delivered', deliveries: [{ recipient: 'lead@acme.example' }] });
    const mails = (await all.mails()).filter(({ to }) => to.includes('lead@acme.example'));
    expect(mails.length).toBeLessThanOrEqual(1);
  });
});

test('a process that is stopped under load ends within its grace period, the next one continues, and each report is sent once', async () => {
  const due = wholeMinute(Date.now() - 10 * MINUTE_MS);
  const ids = Array.from({ length: 40 }, (_, n) => `report-${n}`);
  const hourly = report(`${new Date(due).getUTCMinutes()} * * * *`);
  const all = await aFleet(Object.fromEntries(ids.map((id) => [id, hourly])));
  const before = await all.start({ clock: '-21m', args: ['--role', 'scheduler'] });
  await before.ready();
  expect(await before.end('SIGTERM')).toBe(0);

  const first = await all.start();
  await first.logged(({ msg }) => msg === 'Run ended');
  expect(await first.end('SIGTERM')).toBe(0);
  const left = (await all.runs()).filter(({ state }) => state !== 'done');
  expect(left.map(({ state }) => state)).not.toContain('running');
  const second = await all.start();
  const runs = await all.until((found) => found.length === ids.length && settled(found));
  expect(await second.end('SIGTERM')).toBe(0);
  expect(slotsOf(runs, 'done')).toHaveLength(ids.length);
  expect(runs.every(({ attempts }) => attempts === 1)).toBe(true);
  for (const { lines } of [first, second]) {
    expect(lines.map(({ msg }) => msg)).not.toContain('Stalled job: its worker stopped; another one continues');
  }
  await reconciled(all);
});
