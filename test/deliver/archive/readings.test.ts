import { describe, expect, onTestFinished, test } from 'vitest';
import type { OrgRef } from '../../../src/contract/organization.ts';
import {
  deleteExpiredReadings,
  type QuestionRef,
  readingArchive,
  readingText,
} from '../../../src/deliver/archive/readings/reading-archive.ts';
import { verifyArchive } from '../../../src/deliver/archive/verify/verify-archive.ts';
import type { Reading } from '../../../src/plan/reading.ts';
import { findReadings } from '../../../src/services/readings/reading-history.ts';
import { ARCHIVES } from '../../support/archives.ts';

const REF: QuestionRef = { org: 'acme', day: '2026-10-31', question: 'by-profile.risk' };
const NOW = Date.parse('2026-11-20T10:00:00Z');

const reading = (count: number, more: Partial<Reading> = {}): Reading => ({
  version: 1,
  service_org: 'current',
  ...REF,
  timezone: 'Europe/Zurich',
  metrics: ['alerts.open'],
  dimension: 'profile.risk',
  as_of: '2026-10-31T21:30:01Z',
  received_at: '2026-10-31T21:30:02.000Z',
  registry_version: 7,
  correlation_id: 'c-1',
  rows: [
    { group: 'high', values: { 'alerts.open': count } },
    { group: null, values: { 'alerts.open': null } },
  ],
  ...more,
});

describe.each(ARCHIVES)('readings %s', (_, open) => {
  const opened = async () => {
    const place = await open(onTestFinished);
    const other = await place.another();
    return { ...place, readings: readingArchive(place.storage), others: readingArchive(other.storage) };
  };
  const findings = async ({ storage }: Awaited<ReturnType<typeof opened>>, org?: string) => {
    const found = [];
    for await (const report of verifyArchive(storage, { now: NOW, org })) found.push(...report.findings);
    return found.map(({ code, path }) => `${code} ${path}`);
  };

  test('are stored by one of several simultaneous processes', async () => {
    const { readings, others } = await opened();
    const stored = await Promise.all([
      readings.putIfAbsent(reading(1)),
      others.putIfAbsent(reading(2)),
      readings.putIfAbsent(reading(3)),
      others.putIfAbsent(reading(4)),
    ]);
    expect(stored.filter(Boolean)).toHaveLength(1);
    const winner = stored.indexOf(true) + 1;
    expect(await others.get(REF)).toEqual(reading(winner));
    expect(await readings.get({ ...REF, day: '2026-11-01' })).toBeUndefined();
  });

  test('are found by day and question, but not for another organization of the service', async () => {
    const { readings } = await opened();
    await readings.putIfAbsent(reading(1));
    await readings.putIfAbsent(reading(2, { day: '2026-11-01', service_org: '7' }));
    const days = async (serviceOrg: OrgRef) => [
      ...(await findReadings(readings, serviceOrg)('acme', 'profile.risk', ['2026-10-31', '2026-11-01'])).keys(),
    ];
    expect(await days('current')).toEqual(['2026-10-31']);
    expect(await days(7)).toEqual(['2026-11-01']);
    expect(await days(8)).toEqual([]);
  });

  test('are requested by the one process that has claimed the call', async () => {
    const { readings, others } = await opened();
    expect(await readings.lastCall(REF)).toBeUndefined();
    const call = { number: 1, askedAt: NOW, until: NOW + 180_000 };
    const claims = await Promise.all([readings.claim(REF, call), others.claim(REF, call)]);
    expect(claims.filter(Boolean)).toHaveLength(1);
    expect(await others.lastCall(REF)).toEqual(call);
    const end = { at: NOW + 1_000, code: 'api.timeout', message: 'none' };
    await readings.fail(REF, 1, end);
    expect(await others.lastCall(REF)).toEqual({ ...call, end });
    expect(await others.claim(REF, { ...call, number: 2 })).toBe(true);
    expect((await others.lastCall(REF))?.number).toBe(2);
    expect(await others.list('acme')).toEqual([{ ...REF, stored: false, asked: 2 }]);
    await others.putIfAbsent(reading(5));
    expect(await others.list('acme', REF.day)).toEqual([{ ...REF, stored: true, asked: 2 }]);
    expect(await others.list('other')).toEqual([]);
  });

  test('expire with the retention of their organization', async () => {
    const place = await opened();
    const { readings, storage } = place;
    await readings.putIfAbsent(reading(1));
    await readings.putIfAbsent(reading(1, { org: 'other' }));
    await readings.putIfAbsent(reading(1, { day: '2026-11-19' }));
    await readings.claim(REF, { number: 1, askedAt: NOW, until: NOW });
    const days = (org: string) => (org === 'acme' ? NOW - 10 * 86_400_000 : undefined);
    const failures: unknown[] = [];
    expect(await deleteExpiredReadings(storage, days, (...failure) => failures.push(failure))).toBe(1);
    expect(await deleteExpiredReadings(storage, days, (...failure) => failures.push(failure))).toBe(0);
    expect(failures).toEqual([]);
    expect((await readings.list('acme')).map(({ day }) => day)).toEqual(['2026-11-19']);
    expect(await readings.list('other')).toHaveLength(1);
  });

  test('are reported by verification if changed, moved or added', async () => {
    const place = await opened();
    const { readings, storage } = place;
    await readings.putIfAbsent(reading(1));
    await readings.claim(REF, { number: 1, askedAt: NOW, until: NOW });
    expect(await findings(place)).toEqual([]);
    const text = readingText(reading(1));
    await storage.metadata.put('.readings/acme/2026-10-30/by-profile.risk.json', text);
    await storage.metadata.put('.readings/acme/2026-10-31/whole.json', '{"version": 1}');
    await storage.metadata.put(
      '.readings/acme/2026-10-31/by-profile.risk.json',
      text.replace('"alerts.open": 1', '"alerts.open": 2'),
    );
    await storage.metadata.put('.readings/acme/notes.txt', 'mine');
    expect(await findings(place)).toEqual([
      'reading.changed .readings/acme/2026-10-30/by-profile.risk.json',
      'reading.changed .readings/acme/2026-10-31/by-profile.risk.json',
      'reading.changed .readings/acme/2026-10-31/whole.json',
      'reading.added .readings/acme/notes.txt',
    ]);
    expect(await findings(place, 'other')).toEqual([]);
    await expect(readings.get(REF)).rejects.toMatchObject({ code: 'archive.corrupt' });
  });
});
