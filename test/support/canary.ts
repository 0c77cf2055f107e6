import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import type { Redis } from 'ioredis';
import PostalMime from 'postal-mime';
import { type Behaviour, json } from './hostile-server.ts';
import { metricOf } from './reports.ts';

/** A word that is in everything of one organization and nowhere else. No word is part of another one. */
export const canaryOf = (n: number): string => `zq${String(n).padStart(2, '0')}canary`;
const CANARY = /zq\d\dcanary/g;

/** The organizations whose words a text contains. */
export const canariesIn = (text: string): ReadonlySet<string> => new Set(text.match(CANARY) ?? []);

/** Every file below a folder with its text. Workbooks and zips are unpacked. */
export async function* filesBelow(folder: string): AsyncGenerator<{ path: string; text: string }> {
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    yield { path, text: await textOf(path) };
  }
}

async function textOf(path: string): Promise<string> {
  const bytes = await readFile(path);
  if (/\.(xlsx|zip)$/.test(path)) return unpacked(bytes);
  return path.endsWith('.eml') ? mailText(bytes) : bytes.toString('utf8');
}

const unpacked = (bytes: Uint8Array): string =>
  Object.values(unzipSync(bytes))
    .map((part) => Buffer.from(part).toString('utf8'))
    .join('\n');

/** Everything that a reader of a message can see: headers, both bodies and attachments. */
async function mailText(bytes: Uint8Array): Promise<string> {
  const mail = await PostalMime.parse(bytes);
  const attached = mail.attachments.map(({ filename, content }) => {
    const part = typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content);
    return `${filename}\n${/\.(xlsx|zip)$/.test(filename ?? '') ? unpacked(part) : Buffer.from(part).toString('utf8')}`;
  });
  return [JSON.stringify(mail.headers), mail.subject, mail.text, mail.html, ...attached].join('\n');
}

/** Every single value below a prefix, with its key and field. */
export async function* redisValues(redis: Redis, prefix: string): AsyncGenerator<{ key: string; text: string }> {
  for (const key of await redis.keys(`${prefix}*`)) {
    yield { key, text: key };
    for (const text of await valuesOf(redis, key)) yield { key, text };
  }
}

async function valuesOf(redis: Redis, key: string): Promise<readonly string[]> {
  switch (await redis.type(key)) {
    case 'string':
      return [(await redis.get(key)) ?? ''];
    case 'hash':
      return Object.entries(await redis.hgetall(key)).map((pair) => pair.join(' '));
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'set':
      return redis.smembers(key);
    case 'zset':
      return redis.zrange(key, '0', '-1');
    case 'stream':
      return (await redis.xrange(key, '-', '+', 'COUNT', 10_000)).map(([, fields]) => fields.join(' '));
    case 'none':
      // The key has expired since it was listed.
      return [];
    default:
      throw new Error(`${key} is of a kind that this test does not read`);
  }
}

/** A service whose labels, values and figures for the organization `100 + n` contain only its own word. */
export const canaryService =
  (answered: (n: number, key: string) => void): Behaviour =>
  (request, response, body) => {
    const n = Number(/\/orgs\/(\d+)\//.exec(request.url ?? '')?.[1]) - 100;
    answered(n, request.headers.authorization ?? '');
    const canary = canaryOf(n);
    const dimension = {
      id: 'profile.type',
      label: `Type ${canary}`,
      description: '',
      type: 'enum',
      values: [{ value: canary, label: `Value ${canary}` }],
    };
    const labels = { label: `Created ${canary}`, description: canary };
    const metric = metricOf('profiles.created', { ...labels, dimensions: ['profile.type'] });
    if (request.method === 'GET') {
      const limits = { max_range_days: 366, max_dimensions: 2, max_rows: 5000 };
      return json({ registry_version: 7, metrics: [metric], dimensions: [dimension], limits })(request, response, body);
    }
    const { time } = JSON.parse(body);
    const meta = {
      as_of: new Date().toISOString(),
      cached: false,
      refresh_retry_after: null,
      timezone: time.timezone,
      range: { from: time.from, to: time.to },
      granularity: null,
      row_count: 1,
      truncated: false,
      registry_version: 7,
    };
    const columns = [
      { name: 'profile.type', label: dimension.label, kind: 'dimension', type: 'enum' },
      { name: 'profiles.created', label: metric.label, kind: 'metric', type: 'integer', unit: 'count' },
    ];
    return json({ meta, columns, rows: [{ 'profile.type': canary, 'profiles.created': 1000 + n }] })(
      request,
      response,
      body,
    );
  };
