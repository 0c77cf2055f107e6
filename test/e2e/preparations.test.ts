import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { RunRecord } from '../../src/run/run-record.ts';
import { docket } from '../support/docket.ts';
import { type Fleet, fleet, type Member, type MemberLine } from '../support/fleet.ts';
import { inProcessSandbox } from '../support/in-process-sandbox.ts';

const DAY_MS = 86_400_000;
/** A slot at 8:00 UTC. */
const SLOT = Math.floor(Date.now() / DAY_MS) * DAY_MS - 3 * DAY_MS + 8 * 3_600_000;
const PREPARING_MS = -40 * 60_000;

const report = (title: string, more: { readonly prepare?: boolean; readonly by?: string } = {}): string => `
version: 1
title: ${title}
owner: owner@acme.example
schedule: { cron: "0 8 * * *", timezone: UTC, catch_up: latest${more.prepare === false ? '' : ', prepare: 1h'} }
period: previous_day
# No run uses an answer of another one: only what was prepared saves a call.
max_age: 0
sections:
  - { id: figures, metrics: [profiles.created, profiles.decided] }
  - { id: split, metrics: [profiles.created], dimensions: [${more.by ?? 'profile.risk'}] }
outputs: [{ format: csv }]
deliveries: [{ email: { to: [lead@acme.example], attach: [csv] } }]
`;
const org = (key: string): string =>
  `version: 1\ntimezone: Etc/UTC\norg: 101\napi_key: ${key}\nrecipients: { domains: [acme.example] }\nbudget: { calls: 12, window: 2 }\n`;

let all: Fleet;
/** The offset between the clock of the service and this machine's clock. */
let shiftMs = 0;
let keyFile: string;
const { keyOf } = inProcessSandbox();

beforeAll(async () => {
  all = await fleet({}, { clock: { ...systemClock, now: () => Date.now() + shiftMs } });
  keyFile = join(all.folder, 'key');
  await writeFile(keyFile, keyOf('all'));
  await all.write({
    'acme/org.yaml': org('{ env: ACME_KEY }'),
    'acme/plain.yaml': report('Without prepare', { prepare: false }),
    'acme/killed.yaml': report('Prepared by a process that is killed'),
    'acme/edited.yaml': report('Edited', { by: 'profile.type' }),
    'acme/paused.yaml': report('Paused'),
    'beta/org.yaml': org(`{ file: ${JSON.stringify(keyFile)} }`),
    'beta/rotated.yaml': report('With another key'),
  });
});
afterAll(() => all?.close());

/** The clock offset of a process. The clock of the service follows it. */
const at = (instant: number): string => {
  const seconds = Math.round((instant - Date.now()) / 1000);
  shiftMs = seconds * 1000;
  return `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}`;
};
const start = (instant: number): Promise<Member> => all.start({ clock: at(instant) });
/** Resolves with the next new line that matches. */
const next = (member: Member, wanted: (line: MemberLine) => boolean): Promise<MemberLine> => {
  const known = new Set(member.lines);
  return member.logged((line) => !known.has(line) && wanted(line));
};
const isPrepared =
  (name: string) =>
  ({ msg, report: of }: MemberLine): boolean =>
    msg === 'Slot prepared' && of === name;
const ofSlot = (runs: readonly RunRecord[], slot: number): ReadonlyMap<string, RunRecord> =>
  new Map(runs.filter((one) => Date.parse(one.slot) === slot).map((one) => [one.report, one]));
const REPORTS = ['edited', 'killed', 'paused', 'plain', 'rotated'];
const ended = (slot: number, names = REPORTS) =>
  all.until((runs) => names.every((name) => ofSlot(runs, slot).get(name)?.state === 'done'));
const figuresOf = (record: RunRecord | undefined): readonly string[] =>
  record?.files.filter(({ name }) => name.endsWith('.csv')).map(({ sha256 }) => sha256) ?? [];

test('a run has the same figures as without prepare after a kill, a restart, an edit, a pause, another key and clock steps', async () => {
  const first = await start(SLOT + PREPARING_MS);
  await first.logged(({ msg }) => msg === 'Slot prepared');
  await first.end('SIGKILL');
  const second = await start(SLOT + PREPARING_MS);
  const seen = (name: string) => Promise.any([first, second].map((member) => member.logged(isPrepared(name))));
  await Promise.all(['killed', 'edited', 'paused', 'rotated'].map(seen));

  const activated = next(second, ({ msg }) => msg === 'Definitions activated');
  await all.write({ 'acme/edited.yaml': report('Edited') });
  await activated;
  const env = { REDIS_URL: all.redis.url, DOCKET_JOBS: join(all.folder, 'jobs') };
  await docket(['pause', 'acme/paused', '--by', 'lead'], { env, cwd: all.folder });

  await writeFile(keyFile, keyOf('metrics'));
  await second.setClock(at(SLOT + 2 * PREPARING_MS));
  await second.setClock(at(SLOT + 1_000));
  await ended(SLOT, ['edited', 'killed', 'plain', 'rotated']);

  await docket(['resume', 'acme/paused', '--by', 'lead'], { env, cwd: all.folder });
  const runs = ofSlot(await ended(SLOT), SLOT);

  const figures = figuresOf(runs.get('plain'));
  expect(figures.length).toBeGreaterThan(0);
  for (const name of REPORTS) expect(figuresOf(runs.get(name)), name).toEqual(figures);
  const early = Object.fromEntries([...runs].map(([name, { prepared }]) => [name, prepared?.calls]));
  expect(early).toMatchObject({ plain: undefined, killed: 2, rotated: undefined, edited: 1 });
  expect(await all.mails()).toHaveLength(REPORTS.length);

  // On the next day, Redis loses everything after the preparation.
  const day = SLOT + DAY_MS;
  const prepared = next(second, isPrepared('killed'));
  await second.setClock(at(day + PREPARING_MS));
  await prepared;
  const again = next(second, ({ msg }) => msg === 'Definitions activated');

  const redis = new Redis(all.redis.url);
  await redis.flushall();
  redis.disconnect();
  await again;
  await second.setClock(at(day + 1_000));
  const later = ofSlot(await ended(day), day);
  for (const name of REPORTS) expect(figuresOf(later.get(name)), name).toEqual(figuresOf(later.get('plain')));
  expect([...later.values()].every(({ prepared }) => prepared === undefined)).toBe(true);
});
