import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reportFileSchema } from '../../../src/compose/built-in-kinds.ts';
import type { ComparisonKind } from '../../../src/definitions/schema/comparison.ts';
import { definitionStore } from '../../../src/queue/definitions/definition-store.ts';
import { redisKeys } from '../../../src/redis/keys.ts';
import { anOrder, openQueueHarness, type QueueHarness } from '../../support/queue-harness.ts';
import { definitionOf, settingsOf } from '../../support/reports.ts';

describe('records of the previous version', () => {
  let harness: QueueHarness;
  beforeAll(async () => {
    harness = await openQueueHarness();
  });
  afterAll(() => harness.close());

  it('a stored definition with compare as text is read as a list', async () => {
    const { prefix, producer: redis } = harness;
    const store = definitionStore(redis, { prefix, keepDays: 1, reportSchema: reportFileSchema });
    const digest = 'e'.repeat(64);
    const definition = { ...definitionOf([{ id: 'a', metrics: ['profiles.created'] }], { to_date: 'year' }), digest };
    await store.put({
      definition: { ...definition, compare: ['previous_period', 'previous_year'] },
      settings: settingsOf(),
    });
    const key = redisKeys(prefix).definition(digest);
    const current = await store.get(digest);
    expect(current?.definition).toMatchObject({ compare: ['previous_period', 'previous_year'], to_date: 'year' });
    const text = (await redis.get(key)) ?? '';
    await redis.set(key, text.replace('["previous_period","previous_year"]', '"previous_period"'));
    expect((await store.get(digest))?.definition.compare).toEqual(['previous_period']);
  });

  it('a single previous_period is stored as text, which workers of the previous version can read', async () => {
    const { prefix, producer: redis } = harness;
    const store = definitionStore(redis, { prefix, keepDays: 1, reportSchema: reportFileSchema });
    const storedCompare = async (digit: string, compare: readonly ComparisonKind[] | undefined) => {
      const digest = digit.repeat(64);
      const definition = { ...definitionOf([{ id: 'a', metrics: ['profiles.created'] }]), digest };
      await store.put({
        definition: compare === undefined ? definition : { ...definition, compare },
        settings: settingsOf(),
      });
      expect((await store.get(digest))?.definition.compare).toEqual(compare);
      const { definition: stored } = JSON.parse((await redis.get(redisKeys(prefix).definition(digest))) ?? '{}');
      return stored.file.compare;
    };
    expect(await storedCompare('a', ['previous_period'])).toBe('previous_period');
    expect(await storedCompare('b', ['previous_year'])).toEqual(['previous_year']);
    const both = ['previous_period', 'previous_year'] as const;
    expect(await storedCompare('c', both)).toEqual(both);
    expect(await storedCompare('d', undefined)).toBeUndefined();
  });

  it('a definition without files has none after it was stored; one with a template keeps its hash', async () => {
    const { prefix, producer: redis } = harness;
    const store = definitionStore(redis, { prefix, keepDays: 1, reportSchema: reportFileSchema });
    const put = async (digit: string, files?: Readonly<Record<string, string>>) => {
      const definition = { ...definitionOf([{ id: 'a', metrics: ['profiles.created'] }]), digest: digit.repeat(64) };
      await store.put({
        definition: files === undefined ? definition : { ...definition, files },
        settings: settingsOf(),
      });
      return (await store.get(definition.digest))?.definition;
    };
    expect(await put('7')).not.toHaveProperty('files');
    expect(await put('8', { 'board.xlsx': 'ab' })).toMatchObject({ files: { 'board.xlsx': 'ab' } });
  });

  it('a run record has the periods of its sections if its order has them', async () => {
    const trend = { from: '2025-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: 'trend' };
    const old = anOrder();
    const { record } = await harness.runs.open(old);
    expect(record).not.toHaveProperty('sectionPeriods');
    const order = anOrder({ id: 'f'.repeat(32), sectionPeriods: { trend } });
    await harness.runs.open(order);
    expect((await harness.runs.get(order.id))?.sectionPeriods).toEqual({ trend });
  });
});
