import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createAccess } from '../../../src/admin/access/access.ts';
import { NO_SWITCHES, type Switch } from '../../../src/deliver/switches/switches.ts';
import type { StoppedRun } from '../../../src/services/switches/switch-service.ts';
import { accessPorts } from '../../support/admin.ts';
import { createToken } from '../../support/authenticated-app.ts';
import { fake } from '../../support/fake.ts';
import { openPage } from '../../support/open-page.ts';
import { NOW, runOf } from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const switched = (kind: Switch['kind'], org: string | null): Switch => ({
  ...{ kind, org, by: 'mira', since: NOW },
  reason: `the ${kind} of ${org ?? 'all'}`,
});
const switches = [switched('stop', 'acme'), switched('stop', 'beta'), switched('hold', null)];

test('every page says what is stopped and held, and how to release it, to users who may see the organization', async () => {
  const redis = new Redis(inject('redisUrl'));
  onTestFinished(() => redis.disconnect());
  const { token, entry } = createToken('anna', { orgs: ['acme'] });
  const services = accessPorts({ switches: fake({ known: async () => ({ ...NO_SWITCHES, switches }) }) });
  const { visit } = openPage({ redis, prefix: randomPrefix() }, [entry], (principal) => ({
    switches: createAccess(services, principal).switches,
  }));
  const browser = await visit(token);
  for (const path of ['/', '/reports', '/runs', '/deliveries', '/slots', '/pauses', '/audit']) {
    const page = await (await browser.send('GET', path)).text();
    expect(page, path).toContain('the stop of acme');
    expect(page.match(/Deliveries are stopped/g), path).toHaveLength(1);
    expect(page, path).toContain(path === '/pauses' ? 'release-stop' : 'docket stop acme --release --reason');
    expect(page, path).toContain('the hold of all');
    expect(page, path).toContain('docket hold --all --release --reason');
    expect(page, path).not.toContain('the stop of beta');
  }
});

test('the page stops, holds and releases with a reason, and lets the user choose for each waiting run whether to send it', async () => {
  const redis = new Redis(inject('redisUrl'));
  onTestFinished(() => redis.disconnect());
  const { token, entry } = createToken('anna');
  const did: unknown[] = [];
  const waiting: readonly StoppedRun[] = [
    { record: runOf('october', 'waiting'), replacedBy: null },
    { record: runOf('september', 'waiting'), replacedBy: { run: 'f'.repeat(32), why: 'superseded' } },
  ];
  const [sent = '', replaced = ''] = waiting.map(({ record }) => record.id);
  const { visit } = openPage({ redis, prefix: randomPrefix() }, [entry], () => ({
    switches: async () => [switched('stop', 'acme')],
    stoppedRuns: async () => waiting,
    setSwitch: async (target, reason) => {
      did.push([target, reason]);
      return switched(target.kind, target.org);
    },
    releaseSwitch: async (...release) => {
      did.push(release);
      return { released: switched('stop', 'acme'), continued: [], cancelled: [] };
    },
  }));
  const browser = await visit(token);
  const page = await (await browser.send('GET', '/pauses')).text();
  expect(page).toContain('action="/organizations/acme/release-stop"');
  expect(page).not.toContain('action="/organizations/acme/stop"');
  expect(page).toContain(`name="except" value="${sent}"`);
  expect(page).toContain(`name="also" value="${replaced}"`);
  expect(page).not.toMatch(/name="(except|also)"[^>]* checked/);

  const post = async (path: string, fields: Readonly<Record<string, string>>) =>
    (await browser.post(path, fields)).headers.get('location');
  expect(await post('/pauses/hold', { reason: 'a case' })).toBe('/pauses?did=held');
  expect(await post('/organizations/acme/stop', { reason: 'wrong' })).toBe('/pauses?did=stopped');
  const choice = { reason: 'checked', also: replaced, except: sent };
  expect(await post('/organizations/acme/release-stop', choice)).toBe('/pauses?did=stop-released');
  expect(did).toEqual([
    [{ kind: 'hold', org: null }, 'a case'],
    [{ kind: 'stop', org: 'acme' }, 'wrong'],
    [{ kind: 'stop', org: 'acme' }, 'checked', { also: [replaced], except: [sent] }],
  ]);
  expect((await browser.post('/pauses/stop', {})).status).toBe(422);
  expect(did).toHaveLength(3);
});
