import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import type { Access } from '../../../src/admin/access/access.ts';
import { createToken } from '../../support/authenticated-app.ts';
import { openPage } from '../../support/open-page.ts';
import { type failed, runOf } from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

/** The overview's list of what needs attention, over these data. */
async function attention(change: Partial<Access>): Promise<string> {
  const redis = new Redis(inject('redisUrl'));
  onTestFinished(() => redis.disconnect());
  const { token, entry } = createToken('anna');
  const none: Partial<Access> = {
    runs: async () => ({ runs: [], next: null }),
    deliveries: async () => ({ deliveries: [], next: null }),
    pauses: async () => [],
  };
  const { visit } = openPage({ redis, prefix: randomPrefix() }, [entry], () => ({ ...none, ...change }));
  const page = await (await (await visit(token)).send('GET', '/')).text();
  return /<div id="attention" data-live="(?:true)?">(.*?)<\/div>\s*<section/s.exec(page)?.[1] ?? page;
}

test('says that all is well where nothing is wrong', async () => {
  expect(await attention({})).toContain('class="all-clear"');
});

test('names each problem of the deployment with what to do', async () => {
  const shown = await attention({
    deploymentProblems: async () => [
      { code: 'worker.none', message: 'No worker.', next: 'Start one: `docket start`.' },
    ],
  });
  expect(shown).toContain('data-deployment-problem="worker.none"');
  expect(shown).toContain('Start one: `docket start`.');
  expect(shown).not.toContain('class="all-clear"');
});

test('names runs that wait for their next attempt once for each error, and not those that wait for a token', async () => {
  const waits = (name: string, error: typeof failed.error) => runOf(name, 'waiting', { error, finishedAt: null });
  const full = { code: 'disk.unavailable', message: 'The disk is full.', next: 'Free space.' } as const;
  const runs = [
    ...['one', 'two', 'three', 'four'].map((name) => waits(name, full)),
    waits('five', { code: 'api.timeout', message: 'The service is silent.' }),
    waits('six', null),
  ];
  const shown = await attention({
    runs: async ({ states }) => ({ runs: states?.[0] === 'waiting' ? runs : [], next: null }),
  });
  expect(shown.match(/data-waiting="[^"]*"/g)).toEqual([
    'data-waiting="disk.unavailable"',
    'data-waiting="api.timeout"',
  ]);
  expect(shown).toContain('Free space.');
  const links = (shown.match(/href="\/runs\/[0-9a-f]{32}"/g) ?? []).map((link) => link.slice(12, -1));
  expect(links).toEqual([0, 1, 2, 4].map((index) => runs[index]?.id));
  expect(shown).toContain('/runs?state=waiting');
});
