import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { issueKeys } from '../../src/sandbox/api-keys.ts';
import { DEFAULT_SEED } from '../../src/sandbox/sandbox.ts';
import { SECRET_ACCESS_KEY } from './s3-keys.ts';

/** A secret in the environment of every process that the tests start, under a name that none of them reads. */
export const PLANTED_SECRETS = { PLANTED_SECRET: 'hunter2-planted-5ecret' } as const;

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/** The secrets of the tests and of Docket. None of them may be in Redis or in the log. */
const SECRETS: Readonly<Record<string, string>> = {
  'a password of the tests': 'hunter2|s3cr3t|canary-secret',
  'a key of the sandbox': [
    'sbx_[a-z]+\\.[A-Za-z0-9_-]{20,}',
    // The secret halves alone, for the seed that nearly all tests use.
    ...issueKeys(DEFAULT_SEED, 0).map(({ text }) => literal(text.slice(text.indexOf('.') + 1))),
  ].join('|'),
  'a token of the admin route': 'docket_[A-Za-z0-9_-]{43}',
  'a header that authorizes': 'Api-Key [A-Za-z0-9]|Bearer [A-Za-z0-9_-]{16}|Basic [A-Za-z0-9+/]{8,}={0,2}',
  'the secret of a webhook': 'whsec_[A-Za-z0-9+/]{20,}',
  'the secret of a store': literal(SECRET_ACCESS_KEY),
  'a private key': 'PRIVATE KEY-----',
};
const NAMES = Object.keys(SECRETS);
const ANY = new RegExp(
  Object.values(SECRETS)
    .map((pattern) => `(${pattern})`)
    .join('|'),
  'g',
);

/** Where a secret was found, with its surroundings but without the secret. */
export interface Leak {
  readonly what: string;
  readonly where: string;
  readonly around: string;
}

/** Longer than any secret with its surroundings: this much of a piece is searched again with the next one. */
const OVERLAP = 512;

async function* leaksInFile(path: string): AsyncGenerator<Leak> {
  let kept = '';
  let at = 0;
  let seen = -1;
  // One character per byte, so that positions are positions in the file.
  for await (const piece of createReadStream(path, { encoding: 'latin1', highWaterMark: 1 << 20 })) {
    const text = kept + String(piece);
    for (const match of text.matchAll(ANY)) {
      const place = at + match.index;
      if (place <= seen) continue;
      seen = place;
      yield { ...leakOf(text, match), where: `${path}, byte ${place}` };
    }
    kept = text.slice(-OVERLAP);
    at += text.length - kept.length;
  }
}

function leakOf(text: string, match: RegExpExecArray): Omit<Leak, 'where'> {
  const what = NAMES[match.slice(1).findIndex((group) => group !== undefined)] ?? '';
  const [secret] = match;
  const end = match.index + secret.length;
  const near = text.slice(Math.max(0, match.index - 200), end + 80);
  // Redis's log has each part of a command on a separate line.
  return { what, around: near.replaceAll(ANY, '[…]').replaceAll(/\s+/g, ' ') };
}

/** Searches all files below a folder. */
export async function leaksIn(folder: string): Promise<Leak[]> {
  const leaks: Leak[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    for await (const leak of leaksInFile(join(entry.parentPath, entry.name))) leaks.push(leak);
  }
  return leaks;
}

/** Makes Redis keep every write and not only the final data: it never rewrites its log. */
export const KEEP_EACH_WRITE = ['--auto-aof-rewrite-percentage', '0'] as const;

/**
 * Searches every value that was ever written to a local Redis: keys, fields and values of all databases and types,
 * including removed ones, from its append-only log. Throws if Redis keeps no log, since then nothing is known.
 */
export async function leaksInRedis(url: string): Promise<Leak[]> {
  const redis = new Redis(url);
  try {
    const setting = async (name: string): Promise<string> => {
      const answer: unknown = await redis.config('GET', name);
      return Array.isArray(answer) ? String(answer[1] ?? '') : '';
    };
    if ((await setting('appendonly')) !== 'yes') throw new Error(`${url} keeps no log of its writes (appendonly yes)`);
    const folder = join(await setting('dir'), await setting('appenddirname'));
    // With `everysec` a write can wait up to two seconds on a busy disk. Changing to `always` writes it now.
    const sync = await setting('appendfsync');
    await redis.config('SET', 'appendfsync', 'always');
    await redis.config('SET', 'appendfsync', sync);
    return await leaksIn(folder);
  } finally {
    redis.disconnect();
  }
}

/** Throws if a secret was found anywhere, and names each place. */
export function assertNone(leaks: readonly Leak[]): void {
  if (leaks.length === 0) return;
  const shown = leaks.slice(0, 20).map(({ what, where, around }) => `  ${what}: ${where}\n    ${around}`);
  throw new Error(`${leaks.length} secrets were let out:\n${shown.join('\n')}`);
}
