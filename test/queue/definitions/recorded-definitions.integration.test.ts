import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { reportFileSchema } from '../../../src/compose/built-in-kinds.ts';
import { definitionStore } from '../../../src/queue/definitions/definition-store.ts';
import { DEFAULT_KEY_PREFIX, redisKeys } from '../../../src/redis/keys.ts';
import { MANIFEST, readRecording, restoreRecording } from '../../recorded/recording.ts';
import { type FaketimeRedis, faketimeRedis } from '../../support/faketime-redis.ts';

const RECORDED = fileURLToPath(new URL('../../recorded/', import.meta.url));
const folders = (await readdir(RECORDED, { recursive: true }))
  .filter((path) => path.endsWith(`/${MANIFEST}`))
  .map(dirname);

const storedSchema = z.object({
  definition: z.looseObject({ file: z.looseObject({ compare: z.unknown().optional() }) }),
});

describe.each(folders)('definitions stored by %s', (version) => {
  let to: string;
  let server: FaketimeRedis;
  let redis: Redis;
  beforeAll(async () => {
    const from = join(RECORDED, version);
    to = await mkdtemp(join(tmpdir(), 'docket-recorded-'));
    const { recordedAt } = await readRecording(from);
    const seconds = Math.round((Date.parse(recordedAt) - Date.now()) / 1000);
    server = await faketimeRedis(await restoreRecording(from, to), seconds);
    redis = new Redis(server.url);
  });
  afterAll(async () => {
    redis?.disconnect();
    await server?.close();
    if (to !== undefined) await rm(to, { recursive: true, force: true });
  });

  const storeWith = (prefix: string) => definitionStore(redis, { prefix, keepDays: 1, reportSchema: reportFileSchema });
  /** Reads a definition and stores it again with this version. */
  const storedAgain = async (digest: string): Promise<string> => {
    const frozen = await storeWith(DEFAULT_KEY_PREFIX).get(digest);
    if (frozen === undefined) throw new Error(`${digest} is gone`);
    await storeWith('{again}').put(frozen);
    return (await redis.get(redisKeys('{again}').definition(digest))) ?? '';
  };
  const digests = async (): Promise<string[]> => {
    const pattern = redisKeys(DEFAULT_KEY_PREFIX).definition('');
    return (await redis.keys(`${pattern}*`)).map((key) => key.slice(pattern.length));
  };

  test('are stored again unchanged, so that the older version can still read them', async () => {
    const all = await digests();
    expect(all.length).toBeGreaterThan(5);
    for (const digest of all) {
      const text = (await redis.get(redisKeys(DEFAULT_KEY_PREFIX).definition(digest))) ?? '';
      expect(JSON.parse(await storedAgain(digest))).toEqual(JSON.parse(text));
    }
  });

  test('keep their comparison as text', async () => {
    const [digest = ''] = await digests();
    const key = redisKeys(DEFAULT_KEY_PREFIX).definition(digest);
    const recorded: unknown = JSON.parse((await redis.get(key)) ?? '{}');
    const compared = storedSchema.parse(recorded);
    compared.definition.file.compare = 'previous_period';
    await redis.set(key, JSON.stringify({ ...Object(recorded), definition: compared.definition }));
    expect((await storeWith(DEFAULT_KEY_PREFIX).get(digest))?.definition.compare).toEqual(['previous_period']);
    expect(storedSchema.parse(JSON.parse(await storedAgain(digest))).definition.file.compare).toBe('previous_period');
  });
});
