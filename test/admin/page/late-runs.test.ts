import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import type { Access } from '../../../src/admin/access/access.ts';
import { createToken } from '../../support/authenticated-app.ts';
import { openPage } from '../../support/open-page.ts';
import { runOf } from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const due = { slot: '2020-01-06T08:00:00.000Z', trigger: 'schedule', lateAfterMs: 60_000 } as const;
const late = runOf('late', 'queued', { ...due, finishedAt: null });
const paused = runOf('paused', 'queued', { ...due, finishedAt: null, report: 'other' });
const done = runOf('delivered', 'done', due);

test('the list of runs marks late runs, but not paused or delivered ones', async () => {
  const redis = new Redis(inject('redisUrl'));
  onTestFinished(() => redis.disconnect());
  const { token, entry } = createToken('anna');
  const pause = { org: 'acme', report: 'other', who: 'mia', why: 'holiday', since: 0, key: null, run: null };
  const access: Partial<Access> = {
    runs: async () => ({ runs: [late, paused, done], next: null }),
    pauses: async () => [pause],
  };
  const { visit } = openPage({ redis, prefix: randomPrefix() }, [entry], () => access);
  const page = await (await (await visit(token)).send('GET', '/runs')).text();
  const rows = page.split('<tr>').filter((row) => row.includes('col-state'));
  expect(rows.map((row) => /<span class="state warn">Late<\/span>/.test(row))).toEqual([true, false, false]);
});
