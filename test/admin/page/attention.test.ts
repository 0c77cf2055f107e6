import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import type { Access } from '../../../src/admin/access/access.ts';
import type { RunRecord } from '../../../src/run/run-record.ts';
import type { DeliveryRow } from '../../../src/services/deliveries/decisions.ts';
import { createToken } from '../../support/authenticated-app.ts';
import { openPage } from '../../support/open-page.ts';
import { failed, held, runOf, unknown } from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

/** What the overview lists under "needs attention" for these data. */
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

test('says that all is well when nothing is wrong', async () => {
  expect(await attention({})).toContain('class="all-clear"');
});

test('names each problem of the deployment with what to do', async () => {
  const shown = await attention({
    deploymentProblems: async () => [
      { code: 'worker.none', message: 'No worker.', next: 'Start one: `docket start`.' },
    ],
  });
  expect(shown).toContain('data-deployment-problem="worker.none"');
  expect(shown).toContain('Start one: <code>docket start</code>.');
  expect(shown).not.toContain('class="all-clear"');
});

test('lists runs that wait for a retry once per error, and leaves out those that wait for a token', async () => {
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
  expect(shown.match(/data-failure="[^"]*"/g)).toEqual([
    'data-failure="disk.unavailable"',
    'data-failure="api.timeout"',
  ]);
  expect(shown).toContain('Free space.');
  const links = (shown.match(/href="\/runs\/[0-9a-f]{32}"/g) ?? []).map((link) => link.slice(12, -1));
  expect(links).toEqual([0, 1, 2, 4].map((index) => runs[index]?.id));
  expect(shown).toContain('/runs?state=waiting&amp;error=disk.unavailable');
  const chosen = /name="run" value="([0-9a-f,]+)"/.exec(shown)?.[1]?.split(',');
  expect(chosen).toEqual([0, 1, 2, 3].map((index) => runs[index]?.id));
  expect(shown).toContain(`action="/runs/${runs[4]?.id}/retry"`);
});

test('links to the form of the run when all open deliveries belong to one run', async () => {
  const link = async (deliveries: readonly DeliveryRow[]) =>
    /href="([^"]*)">Decide</.exec(await attention({ deliveries: async () => ({ deliveries, next: null }) }))?.[1];
  const other = { ...unknown, id: 'f'.repeat(32) };
  expect(await link([unknown, other])).toBe(`/runs/${unknown.run}#decide`);
  expect(await link([unknown, { ...other, run: held.id }])).toBe('/deliveries');
});

test('leaves out a failed run when a later run has delivered its period', async () => {
  const again = runOf('again', 'done', { report: failed.report, createdAt: failed.createdAt + 1 });
  const shown = (...more: readonly RunRecord[]) =>
    attention({
      runs: async ({ states }) => {
        const all = [failed, ...more];
        return { runs: all.filter(({ state }) => states?.includes(state) ?? true), next: null };
      },
    });
  expect(await shown(again)).toContain('class="all-clear"');
  for (const change of [
    { createdAt: failed.createdAt - 1 },
    { state: 'failed' as const },
    { deliver: false },
    { report: 'another' },
    { period: { ...failed.period, to: '2026-11-14' } },
  ]) {
    expect(await shown({ ...again, ...change })).toContain(failed.id);
  }
});
