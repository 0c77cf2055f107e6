import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisKeys } from '../../../src/redis/keys.ts';
import { resolveDeliveryId, resolveRunId } from '../../../src/services/runs/resolve-id.ts';
import { type DecisionHarness, decisionHarness } from '../../support/decision-harness.ts';
import { anOrder, openQueueHarness, type QueueHarness } from '../../support/queue-harness.ts';

/** A run id with this beginning. */
const idOf = (start: string): string => start.padEnd(32, '0');

describe('short ids', () => {
  let harness: QueueHarness;
  let desk: DecisionHarness;
  beforeAll(async () => {
    harness = await openQueueHarness();
    desk = decisionHarness(harness);
  });
  afterAll(() => harness.close());

  const open = async (id: string, org = 'acme') => {
    await harness.runs.open(anOrder({ id, org }));
    return id;
  };
  const resolve = (text: string, orgs: readonly string[] | '*' = '*') => resolveRunId(text, harness.runs, orgs);

  it('find a run by its first eight digits or more, even one from before the id index existed', async () => {
    const id = await open(idOf('11111111a'));
    for (const text of ['11111111', '11111111a', '11111111A', id.slice(0, 31), id.toUpperCase()])
      expect(await resolve(text)).toBe(id);
    // The index exists now, and includes runs opened later.
    const later = await open(idOf('11111112'));
    expect(await resolve('11111112')).toBe(later);
  });

  it('find a run opened by a version that has no id index', async () => {
    await resolve('22222222');
    const id = await open(idOf('22222222b'));
    await harness.producer.zrem(redisKeys(harness.prefix).ids, id);
    expect(await resolve('22222222')).toBe(id);
  });

  it('find any of thousands of older runs once the index is rebuilt', async () => {
    const other = await openQueueHarness();
    try {
      const ids = Array.from({ length: 2_500 }, (_, index) => idOf(`a${index.toString(16).padStart(8, '0')}`));
      const index = redisKeys(other.prefix).index();
      await other.producer.zadd(index, ...ids.flatMap((id) => [Date.now(), id]));
      for (const id of [ids[0], ids[1_234], ids[2_499]].flatMap((each) => each ?? [])) {
        expect(await other.runs.findIdsByPrefix(id.slice(0, 9))).toEqual([id]);
      }
      expect(await other.runs.findIdsByPrefix('a0000')).toEqual(ids.slice(0, 100));
      expect(await other.runs.findIdsByPrefix('a0000', ids[99])).toEqual(ids.slice(100, 200));
      expect(await other.producer.zcard(redisKeys(other.prefix).ids)).toBe(2_500);
    } finally {
      await other.close();
    }
  });

  it('may be complete ids, which are returned even without a record', async () => {
    expect(await resolve('3'.repeat(32))).toBe('3'.repeat(32));
  });

  it.each(['44444444', 'not-hex!!', '../../etc', 'ABCDEF0123', '4'.repeat(33), ''])(
    'find nothing for %j',
    async (text) => {
      expect(await resolve(text)).toBeUndefined();
    },
  );

  it.each(['5', '5555555'])('are refused if as short as %j', async (text) => {
    await open(idOf('55555555')).catch(() => {});
    await expect(resolve(text)).rejects.toMatchObject({
      code: 'usage.invalid',
      expected: expect.stringContaining('8'),
    });
  });

  it('that match several runs are refused with the candidates', async () => {
    const one = await open(idOf('66666666a'));
    const other = await open(idOf('66666666b'), 'globex');
    const error = await resolve('66666666').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'run.ambiguous',
      got: expect.stringContaining(`${one} (acme/weekly 2026-W46)`),
    });
    expect(error).toMatchObject({ got: expect.stringContaining(`${other} (globex/weekly 2026-W46)`) });
    expect(await resolve('66666666b')).toBe(other);
  });

  it('consider visible runs only: others are neither found nor make an id ambiguous', async () => {
    const own = await open(idOf('77777777a'));
    await open(idOf('77777777b'), 'globex');
    await open(idOf('77777778'), 'globex');
    expect(await resolve('77777777', ['acme'])).toBe(own);
    expect(await resolve('77777778', ['acme'])).toBeUndefined();
  });

  it('find a visible run behind any number of others', async () => {
    const start = '88888888';
    for (let index = 0; index < 130; index += 1) {
      await open(idOf(`${start}0${index.toString(16).padStart(4, '0')}`), 'globex');
    }
    const own = await open(idOf(`${start}f`));
    expect(await resolve(start, ['acme'])).toBe(own);
  });

  it('list at most ten candidates', async () => {
    for (let index = 0; index < 12; index += 1) await open(idOf(`99999999${index.toString(16)}`));
    const error = await resolve('99999999').catch((thrown: unknown) => thrown);
    const { got = '' } = error as { got?: string };
    expect(got.match(/[0-9a-f]{32}/g)).toHaveLength(10);
    expect(got).toContain('…');
  });

  describe('of deliveries', () => {
    const find = (text: string, orgs: readonly string[] | '*' = '*') =>
      resolveDeliveryId(text, { runs: harness.runs, deliveries: desk.decisions }, orgs);

    it('find a run’s only delivery by the beginning that it shares with the run', async () => {
      const { id, deliveries } = await desk.ended('partly_delivered', ['unknown']);
      expect(await find(id.slice(0, 8))).toBe(deliveries[0]);
      expect(await find(deliveries[0]?.slice(0, 20) ?? '')).toBe(deliveries[0]);
      expect(await find(id.slice(0, 8), ['globex'])).toBeUndefined();
      expect(await find(`${id.slice(0, 16)}ffffffff`)).toBeUndefined();
    });

    it('that match several deliveries are refused with the candidates', async () => {
      const { id, deliveries } = await desk.ended('partly_delivered', ['unknown', 'sent']);
      const error = await find(id.slice(0, 8)).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'delivery.ambiguous',
        got: expect.stringContaining(`${deliveries[1]} (r1@acme.example, sent)`),
      });
      expect(await find(deliveries[1]?.slice(0, 24) ?? '')).toBe(deliveries[1]);
    });

    it('may be complete ids, and are refused if too short', async () => {
      expect(await find('a'.repeat(32))).toBe('a'.repeat(32));
      await expect(find('abcdef0')).rejects.toMatchObject({ code: 'usage.invalid' });
    });
  });
});
