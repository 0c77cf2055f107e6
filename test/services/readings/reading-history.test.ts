import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { evaluateReadings } from '../../../src/compose/probes/archive.ts';
import type { OrgSettings } from '../../../src/definitions/schema/org-settings.ts';
import { type ReadingArchive, readingArchive } from '../../../src/deliver/archive/readings/reading-archive.ts';
import type { ArchiveStorage } from '../../../src/deliver/archive/storage/archive-storage.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import type { Reading } from '../../../src/plan/reading.ts';
import { redisReadingIndex } from '../../../src/queue/schedules/reading-index.ts';
import { readingHistory } from '../../../src/services/readings/reading-history.ts';
import {
  rebuildSummaries,
  summarizeReadings,
  updateSummary,
} from '../../../src/services/readings/summarize-readings.ts';
import { folderFor } from '../../support/delivery-case.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { runCommand } from '../../support/run-command.ts';

const NOW = Date.parse('2026-11-03T12:00:00Z');
const settings = {
  id: 'acme',
  timezone: 'Europe/Zurich',
  readings: { at: '22:30', metrics: ['alerts.open'], by: ['profile.risk', 'never.accepted'] },
} as unknown as OrgSettings;

const reading = (day: string, dimension: string | null = null): Reading => ({
  version: 1,
  org: 'acme',
  day,
  timezone: 'Europe/Zurich',
  question: dimension === null ? 'whole' : `by-${dimension}`,
  metrics: ['alerts.open'],
  dimension,
  as_of: `${day}T21:30:05Z`,
  received_at: `${day}T21:30:06Z`,
  service_org: 'current',
  registry_version: 7,
  correlation_id: null,
  rows: [{ group: dimension === null ? null : 'high', values: { 'alerts.open': 3 } }],
});

let folder: string;
let storage: ArchiveStorage;
let archive: ReadingArchive;
beforeEach(async () => {
  folder = await folderFor(onTestFinished);
  storage = directoryStorage(join(folder, 'archive'));
  archive = readingArchive(storage);
});
const history = async (range = {}) =>
  (await readingHistory(archive, settings, range, NOW)).map(
    ({ day, question, state }) => `${day} ${question} ${state}`,
  );

async function fill() {
  for (const day of ['2026-10-30', '2026-11-01']) await archive.putIfAbsent(reading(day));
  await archive.putIfAbsent(reading('2026-11-01', 'profile.risk'));
  const ref = { org: 'acme', day: '2026-11-02', question: 'whole' };
  await archive.claim(ref, { number: 1, askedAt: NOW, until: NOW });
  await archive.fail(ref, 1, { at: NOW, code: 'api.timeout', message: 'No reply.' });
}

describe('the history of readings', () => {
  test('has gaps from the first day of each question', async () => {
    await fill();
    expect(await history()).toEqual([
      '2026-10-30 whole stored',
      '2026-10-31 whole missed',
      '2026-11-01 by-profile.risk stored',
      '2026-11-01 whole stored',
      '2026-11-02 by-profile.risk missed',
      '2026-11-02 whole missed',
      '2026-11-03 by-profile.risk due',
      '2026-11-03 whole due',
    ]);
    expect(await history({ from: '2026-10-28', to: '2026-10-30' })).toEqual([
      '2026-10-28 whole missed',
      '2026-10-29 whole missed',
      '2026-10-30 whole stored',
    ]);
    const [, , , , , missed] = await readingHistory(archive, settings, {}, NOW);
    expect(missed?.why).toEqual({ code: 'api.timeout', message: 'No reply.' });
  });

  test('is due today if nothing was ever read', async () => {
    expect(await history()).toEqual(['2026-11-03 whole due']);
  });

  test('shows a damaged stored reading as unreadable', async () => {
    await fill();
    await storage.metadata.put('.readings/acme/2026-10-30/whole.json', '{}');
    expect((await history())[0]).toBe('2026-10-30 whole unreadable');
  });

  test('keeps the time of the newest reading after weeks without one', async () => {
    await archive.putIfAbsent(reading('2026-08-01'));
    await archive.putIfAbsent(reading('2026-08-02'));
    await storage.metadata.put('.readings/acme/2026-08-02/whole.json', '{}');
    const { newest } = await summarizeReadings(archive, settings, NOW);
    expect(newest).toBe(Date.parse('2026-08-01T21:30:05Z'));
  });

  test('is summarized in Redis, and rebuilt after Redis was emptied', async () => {
    await fill();
    const redis = new Redis(inject('redisUrl'));
    onTestFinished(() => void redis.quit());
    const prefix = `readings:${randomUUID()}`;
    const index = redisReadingIndex(redis, { prefix });
    const ports = { archive, index, clock: manualClock(NOW), log: silentLog };
    await updateSummary(settings, ports);
    const summary = {
      org: 'acme',
      at: NOW,
      newest: Date.parse('2026-11-01T21:30:05Z'),
      missed: [
        { day: '2026-11-02', question: 'whole', why: 'No reply.' },
        { day: '2026-11-02', question: 'by-profile.risk', why: null },
        { day: '2026-10-31', question: 'whole', why: null },
      ],
    };
    expect(await index.list()).toEqual([summary]);
    await redis.del(`${prefix}:readings`);
    await redis.hset(`${prefix}:readings`, 'gone', '{"at":1,"newest":null,"missed":[]}', 'acme', 'no JSON');
    expect((await index.list()).map(({ org }) => org)).toEqual(['gone']);
    await rebuildSummaries(new Map([['acme', settings]]), ports);
    expect(await index.list()).toEqual([summary]);
  });
});

test('docket doctor warns of missed readings', () => {
  const missed = [{ day: '2026-11-02', question: 'whole', why: null }];
  expect(evaluateReadings([{ org: 'acme', missed: [] }]).state).toBe('ok');
  expect(evaluateReadings([{ org: 'acme', missed }])).toMatchObject({
    state: 'warn',
    detail: expect.stringContaining('acme 2026-11-02 whole'),
  });
});

describe('docket readings', () => {
  const command = async (...words: string[]) => {
    const jobs = join(folder, 'jobs');
    await mkdir(join(jobs, 'acme'), { recursive: true });
    await writeFile(
      join(jobs, 'acme', 'org.yaml'),
      'org: current\napi_key: { env: KEY }\ntimezone: Europe/Zurich\nrecipients: {}\nreadings: { metrics: [alerts.open] }\n',
    );
    const env = { DOCKET_JOBS: jobs, DOCKET_ARCHIVE: `file://${join(folder, 'archive')}` };
    return runCommand(['readings', ...words], { env });
  };

  test('lists readings, and fails with --require-complete if one was missed', async () => {
    await fill();
    const range = ['--from', '2026-10-30', '--to', '2026-11-01', '--json'];
    const listed = await command('acme', ...range);
    expect(listed.code).toBe(0);
    const { readings, missed } = JSON.parse(listed.stdout);
    expect(missed).toBe(1);
    expect(readings[0]).toEqual({
      org: 'acme',
      day: '2026-10-30',
      question: 'whole',
      state: 'stored',
      as_of: '2026-10-30T21:30:05Z',
      calls: 0,
      why: null,
    });
    const text = await command('acme', '--from', '2026-10-30', '--to', '2026-11-01');
    const stored = readings.filter(({ state }: { readonly state: string }) => state === 'stored').length;
    expect(text.stderr + text.stdout).toContain(`${stored} stored, 1 missed`);
    expect((await command(...range, '--require-complete')).code).toBe(1);
    expect((await command('--from', '2026-10-30', '--to', '2026-10-30', '--require-complete')).code).toBe(0);
  });

  test.each([
    [['nobody'], 2],
    [['--from', '30.10.2026'], 2],
    [['--from', '2026-11-02', '--to', '2026-11-01'], 2],
  ])('refuses %j', async (words, code) => {
    expect((await command(...words)).code).toBe(code);
  });
});
