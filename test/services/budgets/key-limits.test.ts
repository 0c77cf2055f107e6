import { expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { Secret, secretSource } from '../../../src/base/secrets/secret.ts';
import type { OrgSettings } from '../../../src/definitions/schema/org-settings.ts';
import { keyLimits } from '../../../src/services/budgets/key-limits.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { recordingLog, reportDefinition } from '../../support/queue-harness.ts';

const anOrg = (id: string, budget: OrgSettings['budget'], key = 'SHARED'): OrgSettings => ({
  ...reportDefinition('weekly', undefined, id).settings,
  api_key: { env: key },
  ...(budget === undefined ? {} : { budget }),
});
const KEY = new Secret('shared').fingerprint();

function over(...first: OrgSettings[]) {
  let orgs = first;
  const log = recordingLog();
  const limits = keyLimits({
    orgs: () => new Map(orgs.map((org) => [org.id, org])),
    secrets: secretSource({ SHARED: 'shared', SAME: 'shared', OWN: 'own' }),
    clock: systemClock,
    log,
  });
  const edit = (...next: OrgSettings[]) => {
    orgs = next;
  };
  return { limits, edit, log, now: () => ({ ...limits.of(KEY) }) };
}

test('a key has the limits of the active definitions, not those frozen in a run', async () => {
  const { limits, edit, now, log } = over(anOrg('acme', { calls: 10 }));
  const frozen = anOrg('acme', { calls: 40, window: 10 });
  await limits.resolve(KEY, frozen);
  expect(now()).toEqual({ calls: 10, windowMs: 60_000 });
  const held = limits.of(KEY);
  // This also applies to an active run.
  edit(anOrg('acme', { calls: 20, window: 30 }));
  expect({ ...held }).toEqual({ calls: 20, windowMs: 30_000 });
  edit(anOrg('acme', undefined));
  expect({ ...held }).toEqual({ calls: 30, windowMs: 60_000 });
  // No active definition has the key any more: only the limits frozen in the run are known.
  edit();
  await limits.resolve(KEY, frozen);
  expect(now()).toEqual({ calls: 40, windowMs: 10_000 });
  expect(log.lines).toEqual([]);
});

test('keys are read once while the definitions stay the same, and again when a run’s own key has changed', async () => {
  const env: Record<string, string> = { ONE: 'one', TWO: 'two' };
  const secrets = secretSource(env);
  const read = vi.fn(secrets);
  const clock = manualClock(0);
  const [one, two] = [anOrg('one', { calls: 10 }, 'ONE'), anOrg('two', { calls: 20 }, 'TWO')];
  const orgs = new Map([one, two].map((org) => [org.id, org]));
  const from = Object.assign(read, { redactor: secrets.redactor });
  const limits = keyLimits({ orgs: () => orgs, secrets: from, clock, log: recordingLog() });
  const keyOf = (value: string) => new Secret(value).fingerprint();
  for (let n = 0; n < 5; n += 1) await limits.resolve(keyOf('one'), one);
  expect(read).toHaveBeenCalledTimes(2);
  // Rotated to the key of another organization: a run of either one finds both.
  env.TWO = 'one';
  await limits.resolve(keyOf('one'), two);
  expect(read).toHaveBeenCalledTimes(4);
  expect({ ...limits.of(keyOf('one')) }).toMatchObject({ calls: 10 });
  env.TWO = 'two';
  clock.advance(10_000);
  await limits.resolve(keyOf('one'), one);
  expect(read).toHaveBeenCalledTimes(6);
});

test('organizations with the same key share its lowest limits, however their files name it', async () => {
  const acme = anOrg('acme', { calls: 30 });
  const { limits, edit, now, log } = over(
    acme,
    anOrg('acme-eu', { calls: 60, window: 120 }, 'SAME'),
    anOrg('own', { calls: 1 }, 'OWN'),
    anOrg('nowhere', { calls: 2 }, 'NOWHERE'),
  );
  await limits.resolve(KEY, acme);
  await limits.resolve(KEY, acme);
  expect(now()).toEqual({ calls: 30, windowMs: 120_000 });
  expect(log.lines).toEqual([
    expect.objectContaining({
      level: 'warn',
      message: 'Conflicting `budget` settings for one API key: acme says 30 in 60 s, acme-eu says 60 in 120 s.',
      key: KEY,
      count: 30,
    }),
  ]);
  edit(acme, anOrg('acme-eu', { calls: 30, window: 60 }, 'SAME'));
  await limits.resolve(KEY, acme);
  edit(acme, anOrg('acme-eu', { calls: 10 }, 'SAME'));
  await limits.resolve(KEY, acme);
  expect(now()).toEqual({ calls: 10, windowMs: 60_000 });
  expect(log.lines).toHaveLength(2);
});
