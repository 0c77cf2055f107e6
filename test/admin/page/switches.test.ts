import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createAccess } from '../../../src/admin/access/access.ts';
import { NO_SWITCHES, type Switch } from '../../../src/deliver/switches/switches.ts';
import { accessPorts } from '../../support/admin.ts';
import { createToken } from '../../support/authenticated-app.ts';
import { fake } from '../../support/fake.ts';
import { openPage } from '../../support/open-page.ts';
import { NOW } from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const switched = (kind: Switch['kind'], org: string | null): Switch => ({
  ...{ kind, org, by: 'mira', since: NOW },
  reason: `the ${kind} of ${org ?? 'all'}`,
});
const switches = [switched('stop', 'acme'), switched('stop', 'beta'), switched('hold', null)];

test('every page says what is stopped and held, and how it ends, to whoever may see the organization', async () => {
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
    expect(page, path).toContain('docket stop acme --release --reason');
    expect(page, path).toContain('the hold of all');
    expect(page, path).toContain('docket hold --all --release --reason');
    expect(page, path).not.toContain('the stop of beta');
  }
});
