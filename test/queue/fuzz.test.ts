import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisAudit } from '../../src/admin/auth/audit.ts';
import { runSchema, runView } from '../../src/admin/view.ts';
import { systemClock } from '../../src/base/clock.ts';
import { catalogSchema } from '../../src/contract/catalog.ts';
import { deliveryId } from '../../src/deliver/ledger.ts';
import { redisLedger } from '../../src/deliver/redis-ledger.ts';
import { redisSentFigures } from '../../src/deliver/sent-figures.ts';
import { heldCatalog } from '../../src/fetch/catalogs.ts';
import { redisStore } from '../../src/fetch/redis-store.ts';
import { redisCursors } from '../../src/queue/cursors.ts';
import { definitionStore } from '../../src/queue/definition-store.ts';
import { keysOf } from '../../src/queue/keys.ts';
import { redisLive } from '../../src/queue/live.ts';
import { redisLooks } from '../../src/queue/looks.ts';
import { owedNotices } from '../../src/queue/owed-notices.ts';
import { redisPauses } from '../../src/queue/pauses.ts';
import { redisVersions } from '../../src/queue/versions.ts';
import { readCursor } from '../../src/run/page.ts';
import {
  expectCleanPrototypes,
  gotOrRefused,
  hostileText,
  INHERITED,
  nearly,
  nearlyJson,
  readOrRefused,
  runs,
  within,
} from '../support/fuzz.ts';
import { aBench, anOrder, aReport, type Bench, linesLog } from '../support/queue-bench.ts';
import { CATALOG } from '../support/reports.ts';

/** What another version of Docket, or somebody else, has written where ours stood. */
describe('whatever is read back from Redis, it is what was written, or an error for a person, or as if it were not there', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await aBench();
  });
  afterAll(() => bench.close());

  const LIVE = {
    stage: 'fetch',
    done: 1,
    of: 3,
    tokens: 20,
    ahead: null,
    finish: 1_790_000_000_000,
    at: 1_790_000_000_000,
  };
  const ERROR = { code: 'api.timeout' as const, message: 'Too late.', next: 'Wait.' };

  test(
    'the record of a run, and what is live of it',
    async () => {
      const order = anOrder();
      await bench.runs.open(order);
      await bench.runs.update(order.id, { state: 'failed', startedAt: 5, finishedAt: 9, error: ERROR });
      const { producer: redis, prefix } = bench;
      const live = redisLive(redis, { prefix });
      const keys = keysOf(prefix);
      const whole = await redis.hgetall(keys.record(order.id));
      const fields = Object.keys(whole);
      let read = 0;
      const broken = fc
        .constantFrom(...fields)
        .chain((field) =>
          fc.tuple(
            fc.constant(field),
            field === 'state' ? nearly(['failed', 'done']) : nearlyJson(JSON.parse(whole[field] ?? ''), 2),
          ),
        );
      await fc.assert(
        fc.asyncProperty(broken, nearlyJson(LIVE), async ([field, text], said) => {
          await redis
            .multi()
            .del(keys.record(order.id))
            .hset(keys.record(order.id), { ...whole, [field]: text })
            .set(keys.live(order.id), said)
            .exec();
          const record = await gotOrRefused(() => bench.runs.get(order.id), { field, text });
          const news = await gotOrRefused(() => live.read(order.id), { field, text });
          expect(news?.record).toEqual(record);
          await bench.runs.list({ org: order.org, limit: 5 });
          expectCleanPrototypes();
          if (record === undefined) return;
          read += 1;
          expect(runSchema.safeParse(runView(record)).success || field === 'order', text).toBe(true);
        }),
        runs(250),
      );
      expect(read).toBeGreaterThan(30);
    },
    within(4),
  );

  test(
    'frozen definitions, versions, pauses, notices, looks and the audit log',
    async () => {
      const { producer: redis, prefix } = bench;
      const keys = keysOf(prefix);
      const frozen = aReport('weekly', { cron: '0 8 * * MON' });
      const store = definitionStore(redis, { prefix, keepDays: 30 });
      await store.put(frozen);
      const { digest } = frozen.definition;
      const definition = JSON.parse((await redis.get(keys.definition(digest))) ?? '');
      const examples = {
        version: { digest, since: 1, by: 'ann', before: null, cursors: 'a\nb' },
        pause: { org: 'acme', report: 'weekly', who: 'ann', why: 'a', since: 1, key: null, run: null },
        notice: { error: ERROR, since: 1 },
        entry: { event: 'session.closed', at: 1, who: 'ann', why: 'a', org: 'acme' },
      };
      const log = linesLog();
      const audit = redisAudit(redis, { prefix, clock: systemClock, log });
      const one = fc.record({
        definition: nearlyJson(definition, 2),
        version: nearlyJson(examples.version, 2),
        pause: nearlyJson(examples.pause, 2),
        notice: nearlyJson(examples.notice, 2),
        entry: nearlyJson(examples.entry, 2),
        look: fc.oneof(nearly(['1790000000000', '']), hostileText(2)),
      });
      await fc.assert(
        fc.asyncProperty(one, async (text) => {
          await redis
            .multi()
            .set(keys.definition(digest), text.definition)
            .hset(keys.versions, 'acme/weekly', text.version)
            .hset(keys.pauses, 'acme/weekly', text.pause)
            .hset(keys.notices, {
              [randomBytes(4).toString('hex')]: text.notice,
              good: JSON.stringify(examples.notice),
            })
            .hset(keys.looks, { at: text.look, stuck: text.look })
            .del(keys.audit)
            .xadd(keys.audit, '*', 'entry', text.entry)
            .exec();
          const read = await gotOrRefused(() => store.get(digest), text.definition);
          expect(read === undefined || read.definition.digest === digest).toBe(true);
          const versions = await redisVersions(redis, { prefix }).read();
          for (const version of versions.values()) expect(typeof version.digest).toBe('string');
          for (const { since } of await redisPauses(redis, { prefix }).list())
            expect(new Date(since).toISOString()).toBeDefined();
          const owed = await owedNotices(redis, { prefix }).list();
          // One that is broken keeps no other from being told of.
          expect(owed).toContainEqual({ run: 'good', ...examples.notice });
          for (const { since } of owed) expect(new Date(since).toISOString()).toBeDefined();
          const look = await redisLooks(redis, { prefix }).last();
          if (look !== null) expect(new Date(look.at).toISOString()).toBeDefined();
          const page = await audit.list({ orgs: '*', house: true, limit: 5 });
          for (const { at } of page.entries) expect(new Date(at).toISOString()).toBeDefined();
          await redis.del(keys.notices);
          expectCleanPrototypes();
        }),
        runs(200),
      );
    },
    within(5),
  );

  test(
    'rows of the ledger, and what was sent last',
    async () => {
      const { producer: redis, prefix: hash } = bench;
      const prefix = `${hash}:`;
      const ledger = redisLedger(redis, { prefix, ttlDays: 40 });
      const run = randomBytes(16).toString('hex');
      const id = deliveryId(run, '1-email', 'lead@acme.example');
      await ledger.open(
        { id, run, org: 'acme', report: 'weekly', target: '1-email', recipient: 'lead@acme.example' },
        1,
      );
      const place = (await redis.keys(`${prefix}deliveries:*`))[0] ?? '';
      const whole = await redis.hgetall(place);
      const where = { org: 'acme', report: 'weekly', target: '1-email', recipient: 'lead@acme.example' };
      const figures = redisSentFigures(redis, { prefix });
      const broken = fc
        .constantFrom(...Object.keys(whole))
        .chain((field) =>
          fc.tuple(
            fc.constant(field),
            field.endsWith(':row')
              ? nearlyJson(JSON.parse(whole[field] ?? ''), 2)
              : fc.oneof(nearly([whole[field] ?? '', 'sent', '1']), hostileText(2)),
          ),
        );
      await fc.assert(
        fc.asyncProperty(
          broken,
          nearlyJson({ figures: 'a', run, at: 1 }),
          nearlyJson({ [run]: { at: 1, over: false } }),
          async ([field, text], sent, open) => {
            const of = JSON.stringify(['1-email', 'lead@acme.example']);
            await redis
              .multi()
              .del(place)
              .hset(place, { ...whole, [field]: text })
              .hset(`${prefix}figures:{acme/weekly}`, of, sent, `open ${of}`, open)
              .exec();
            await gotOrRefused(() => ledger.find(id), { field, text });
            await gotOrRefused(() => ledger.list(run), { field, text });
            const last = await figures.last(where);
            expect([typeof last.sent?.figures, typeof last.perhaps]).not.toContain('object');
            expectCleanPrototypes();
          },
        ),
        runs(250),
      );
    },
    within(4),
  );

  test(
    'kept answers and catalogs',
    async () => {
      const { producer: redis, prefix: hash } = bench;
      const prefix = `${hash}:`;
      const store = redisStore(redis, { prefix, org: 'acme' });
      await fc.assert(
        fc.asyncProperty(
          nearlyJson({ body: { a: 1 }, correlationId: null, at: 1 }),
          nearlyJson(CATALOG),
          async (answer, catalog) => {
            await redis
              .multi()
              .hset(`${prefix}answers:run`, 'call', answer)
              .set(`${prefix}catalog:key:current`, catalog)
              .exec();
            const kept = await store.get('run', 'call');
            expect(kept === undefined || typeof kept.at === 'number').toBe(true);
            const held = await heldCatalog(redis, prefix, 'key', 'current');
            if (held !== undefined) expect(catalogSchema.safeParse(held).success).toBe(true);
            expectCleanPrototypes();
          },
        ),
        runs(200),
      );
    },
    within(4),
  );

  test(
    'cursors: one that nobody can read is begun anew, and the others stand',
    async () => {
      const { producer: redis, prefix } = bench;
      const cursors = redisCursors(redis, { prefix });
      const key = keysOf(prefix).cursors;
      await fc.assert(
        fc.asyncProperty(fc.oneof(nearly(['1790000000000']), hostileText(2)), async (text) => {
          await redis.hset(key, { odd: text, good: 1_790_000_000_000 });
          const [odd, good] = await cursors.read(['odd', 'good']);
          expect(good).toBe(1_790_000_000_000);
          if (odd !== undefined) return void expect(new Date(odd).toISOString()).toBeDefined();
          expect(await cursors.start(['odd', 'good'], 5)).toEqual(['odd']);
          expect(await cursors.read(['odd', 'good'])).toEqual([5, 1_790_000_000_000]);
        }),
        runs(200),
      );
    },
    within(3),
  );
});

test('an error of a code that every object has is of no code of ours', async () => {
  const bench = await aBench();
  for (const code of INHERITED) {
    const order = anOrder();
    await bench.runs.open(order);
    await bench.producer.hset(keysOf(bench.prefix).record(order.id), 'error', JSON.stringify({ code, message: 'x' }));
    expect(await bench.runs.get(order.id)).toMatchObject({ error: { code: 'internal.defect' } });
  }
  await bench.close();
});

test(
  'a cursor of a listing is one of ours or refused',
  () => {
    fc.assert(
      fc.property(fc.oneof(nearly([`1790000000000-${'a'.repeat(32)}`]), hostileText(3)), (text) => {
        const read = readOrRefused(() => readCursor(text), text);
        if (read !== undefined) expect(`${read.createdAt}-${read.id}`).toMatch(/^\d+-[0-9a-f]{32}$/);
      }),
      runs(1_000),
    );
  },
  within(2),
);
