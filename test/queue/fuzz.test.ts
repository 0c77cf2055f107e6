import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runSchema, runView } from '../../src/admin/api/schemas.ts';
import { systemClock } from '../../src/base/clock.ts';
import { reportFileSchema } from '../../src/compose/built-in-kinds.ts';
import { catalogSchema } from '../../src/contract/catalog.ts';
import { redisLastSentFigures } from '../../src/deliver/last-sent-figures.ts';
import { deliveryId } from '../../src/deliver/ledger/ledger.ts';
import { redisLedger } from '../../src/deliver/ledger/redis-ledger.ts';
import { cachedCatalog } from '../../src/fetch/cache/catalog-cache.ts';
import { redisResponseStore } from '../../src/fetch/cache/redis-response-store.ts';
import { redisActiveVersions } from '../../src/queue/definitions/active-versions.ts';
import { definitionStore } from '../../src/queue/definitions/definition-store.ts';
import { redisLiveProgress } from '../../src/queue/runs/live-progress.ts';
import { redisNoticeOutbox } from '../../src/queue/runs/notice-outbox.ts';
import { redisPauses } from '../../src/queue/schedules/pauses.ts';
import { redisScheduleCursors } from '../../src/queue/schedules/schedule-cursors.ts';
import { redisSchedulerHeartbeats } from '../../src/queue/schedules/scheduler-heartbeat.ts';
import { redisKeys } from '../../src/redis/keys.ts';
import { parseRunCursor } from '../../src/run/run-page.ts';
import { redisAuditLog } from '../../src/services/audit-log.ts';
import {
  cases,
  expectCleanPrototypes,
  hostileText,
  INHERITED,
  least,
  mutatedJson,
  mutatedText,
  readOrUndefined,
  resolveOrUndefined,
  within,
} from '../support/fuzz.ts';
import {
  anOrder,
  openQueueHarness,
  type QueueHarness,
  recordingLog,
  reportDefinition,
} from '../support/queue-harness.ts';
import { CATALOG } from '../support/reports.ts';

/** Another version of Docket, or another program, may have written these values. */
describe('damaged values in Redis are read if still valid, reported as an error, or treated as missing', () => {
  let harness: QueueHarness;
  beforeAll(async () => {
    harness = await openQueueHarness();
  });
  afterAll(() => harness.close());

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
    'run records and live progress',
    async () => {
      const order = anOrder();
      await harness.runs.open(order);
      await harness.runs.update(order.id, { state: 'failed', startedAt: 5, finishedAt: 9, error: ERROR });
      const { producer: redis, prefix } = harness;
      const live = redisLiveProgress(redis, { prefix });
      const keys = redisKeys(prefix);
      const whole = await redis.hgetall(keys.record(order.id));
      const fields = Object.keys(whole);
      let read = 0;
      const broken = fc
        .constantFrom(...fields)
        .chain((field) =>
          fc.tuple(
            fc.constant(field),
            field === 'state' ? mutatedText(['failed', 'done']) : mutatedJson(JSON.parse(whole[field] ?? ''), 2),
          ),
        );
      await fc.assert(
        fc.asyncProperty(broken, mutatedJson(LIVE), async ([field, text], said) => {
          await redis
            .multi()
            .del(keys.record(order.id))
            .hset(keys.record(order.id), { ...whole, [field]: text })
            .set(keys.live(order.id), said)
            .exec();
          const record = await resolveOrUndefined(() => harness.runs.get(order.id), { field, text });
          const news = await resolveOrUndefined(() => live.get(order.id), { field, text });
          expect(news?.record).toEqual(record);
          await harness.runs.list({ org: order.org, limit: 5 });
          expectCleanPrototypes();
          if (record === undefined) return;
          read += 1;
          expect(runSchema.safeParse(runView(record)).success || field === 'order', text).toBe(true);
        }),
        cases(250),
      );
      expect(read).toBeGreaterThan(least(30));
    },
    within(4),
  );

  test(
    'frozen definitions, versions, pauses, notices, heartbeats and the audit log',
    async () => {
      const { producer: redis, prefix } = harness;
      const keys = redisKeys(prefix);
      const frozen = reportDefinition('weekly', { cron: '0 8 * * MON' });
      const store = definitionStore(redis, { prefix, keepDays: 30, reportSchema: reportFileSchema });
      await store.put(frozen);
      const { digest } = frozen.definition;
      const definition = JSON.parse((await redis.get(keys.definition(digest))) ?? '');
      const examples = {
        version: { digest, since: 1, by: 'ann', before: null, cursors: 'a\nb' },
        pause: { org: 'acme', report: 'weekly', who: 'ann', why: 'a', since: 1, key: null, run: null },
        notice: { error: ERROR, since: 1 },
        entry: { event: 'session.closed', at: 1, who: 'ann', why: 'a', org: 'acme' },
      };
      const log = recordingLog();
      const audit = redisAuditLog(redis, { prefix, clock: systemClock, log });
      const one = fc.record({
        definition: mutatedJson(definition, 2),
        version: mutatedJson(examples.version, 2),
        pause: mutatedJson(examples.pause, 2),
        notice: mutatedJson(examples.notice, 2),
        entry: mutatedJson(examples.entry, 2),
        look: fc.oneof(mutatedText(['1790000000000', '']), hostileText(2)),
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
          const read = await resolveOrUndefined(() => store.get(digest), text.definition);
          expect(read === undefined || read.definition.digest === digest).toBe(true);
          const versions = await redisActiveVersions(redis, { prefix }).read();
          for (const version of versions.values()) expect(typeof version.digest).toBe('string');
          for (const { since } of await redisPauses(redis, { prefix }).list())
            expect(new Date(since).toISOString()).toBeDefined();
          const owed = await redisNoticeOutbox(redis, { prefix }).list();
          // A broken notice must not hide the others.
          expect(owed).toContainEqual({ run: 'good', ...examples.notice });
          for (const { since } of owed) expect(new Date(since).toISOString()).toBeDefined();
          const look = await redisSchedulerHeartbeats(redis, { prefix }).last();
          if (look !== null) expect(new Date(look.at).toISOString()).toBeDefined();
          const page = await audit.list({ orgs: '*', includeGlobal: true, limit: 5 });
          for (const { at } of page.entries) expect(new Date(at).toISOString()).toBeDefined();
          await redis.del(keys.notices);
          expectCleanPrototypes();
        }),
        cases(200),
      );
    },
    within(5),
  );

  test(
    'ledger rows and the figures sent last',
    async () => {
      const { producer: redis, prefix: hash } = harness;
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
      const figures = redisLastSentFigures(redis, { prefix });
      const broken = fc
        .constantFrom(...Object.keys(whole))
        .chain((field) =>
          fc.tuple(
            fc.constant(field),
            field.endsWith(':row')
              ? mutatedJson(JSON.parse(whole[field] ?? ''), 2)
              : fc.oneof(mutatedText([whole[field] ?? '', 'sent', '1']), hostileText(2)),
          ),
        );
      await fc.assert(
        fc.asyncProperty(
          broken,
          mutatedJson({ figures: 'a', run, at: 1 }),
          mutatedJson({ [run]: { at: 1, over: false } }),
          async ([field, text], sent, open) => {
            const of = JSON.stringify(['1-email', 'lead@acme.example']);
            await redis
              .multi()
              .del(place)
              .hset(place, { ...whole, [field]: text })
              .hset(`${prefix}figures:{acme/weekly}`, of, sent, `open ${of}`, open)
              .exec();
            await resolveOrUndefined(() => ledger.find(id), { field, text });
            await resolveOrUndefined(() => ledger.list(run), { field, text });
            const last = await figures.last(where);
            expect([typeof last.sent?.figures, typeof last.uncertainRun]).not.toContain('object');
            expectCleanPrototypes();
          },
        ),
        cases(250),
      );
    },
    within(4),
  );

  test(
    'stored responses and catalogs',
    async () => {
      const { producer: redis, prefix: hash } = harness;
      const prefix = `${hash}:`;
      const store = redisResponseStore(redis, { prefix, org: 'acme' });
      await fc.assert(
        fc.asyncProperty(
          mutatedJson({ body: { a: 1 }, correlationId: null, at: 1 }),
          mutatedJson(CATALOG),
          async (answer, catalog) => {
            await redis
              .multi()
              .hset(`${prefix}answers:run`, 'call', answer)
              .set(`${prefix}catalog:key:current`, catalog)
              .exec();
            const kept = await store.get('run', 'call');
            expect(kept === undefined || typeof kept.at === 'number').toBe(true);
            const held = await cachedCatalog(redis, prefix, 'key', 'current');
            if (held !== undefined) expect(catalogSchema.safeParse(held).success).toBe(true);
            expectCleanPrototypes();
          },
        ),
        cases(200),
      );
    },
    within(4),
  );

  test(
    'an unreadable cursor starts again, and the others stay',
    async () => {
      const { producer: redis, prefix } = harness;
      const cursors = redisScheduleCursors(redis, { prefix });
      const key = redisKeys(prefix).cursors;
      await fc.assert(
        fc.asyncProperty(fc.oneof(mutatedText(['1790000000000']), hostileText(2)), async (text) => {
          await redis.hset(key, { odd: text, good: 1_790_000_000_000 });
          const [odd, good] = await cursors.read(['odd', 'good']);
          expect(good).toBe(1_790_000_000_000);
          if (odd !== undefined) return void expect(new Date(odd).toISOString()).toBeDefined();
          expect(await cursors.initialize(['odd', 'good'], 5)).toEqual(['odd']);
          expect(await cursors.read(['odd', 'good'])).toEqual([5, 1_790_000_000_000]);
        }),
        cases(200),
      );
    },
    within(3),
  );
});

test('an error whose code is the name of an inherited property becomes internal.defect', async () => {
  const harness = await openQueueHarness();
  for (const code of INHERITED) {
    const order = anOrder();
    await harness.runs.open(order);
    await harness.producer.hset(
      redisKeys(harness.prefix).record(order.id),
      'error',
      JSON.stringify({ code, message: 'x' }),
    );
    expect(await harness.runs.get(order.id)).toMatchObject({ error: { code: 'internal.defect' } });
  }
  await harness.close();
});

test(
  'a cursor of a listing is valid or refused',
  () => {
    fc.assert(
      fc.property(fc.oneof(mutatedText([`1790000000000-${'a'.repeat(32)}`]), hostileText(3)), (text) => {
        const read = readOrUndefined(() => parseRunCursor(text), text);
        if (read !== undefined) expect(`${read.createdAt}-${read.id}`).toMatch(/^\d+-[0-9a-f]{32}$/);
      }),
      cases(1_000),
    );
  },
  within(2),
);
