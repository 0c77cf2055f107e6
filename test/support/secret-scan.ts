import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { issueKeys } from '../../src/sandbox/api-keys.ts';
import { DEFAULT_SEED } from '../../src/sandbox/sandbox.ts';
import { SECRET_ACCESS_KEY } from './s3-keys.ts';

/** Is in the environment of every process that the tests start, under a name that none of them reads. */
export const PLANTED_SECRETS = { PLANTED_SECRET: 'hunter2-planted-5ecret' } as const;

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/** What the tests use as a secret, and what Docket makes: none of it may be in Redis or in a line of the log. */
const SECRETS: Readonly<Record<string, string>> = {
  'a password of the tests': 'hunter2|s3cr3t|canary-secret',
  'a key of the sandbox': [
    'sbx_[a-z]+\\.[A-Za-z0-9_-]{20,}',
    // The secret half by itself, of the seed that all tests but few use.
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

/** Where a secret stands, and what is around it; the secret itself is not repeated. */
export interface Leak {
  readonly what: string;
  readonly where: string;
  readonly around: string;
}

/** Longer than any secret and what is shown around it: so much of a piece is looked at again with the next. */
const OVERLAP = 512;

async function* leaksInFile(path: string): AsyncGenerator<Leak> {
  let kept = '';
  let at = 0;
  let seen = -1;
  // One character a byte, so that a place is a place in the file.
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
  // Redis's log has each part of a command on a line of its own.
  return { what, around: near.replaceAll(ANY, '[…]').replaceAll(/\s+/g, ' ') };
}

/** All files of a folder, below it as well. */
export async function leaksIn(folder: string): Promise<Leak[]> {
  const leaks: Leak[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    for await (const leak of leaksInFile(join(entry.parentPath, entry.name))) leaks.push(leak);
  }
  return leaks;
}

/** So that Redis keeps each write that ever was, and not only what is left at the end: its log is never rewritten. */
export const KEEP_EACH_WRITE = ['--auto-aof-rewrite-percentage', '0'] as const;

/**
 * Every value that was ever written to a Redis of this machine: keys, fields and values of all databases and types, also
 * of what was removed since, as its append-only log has them. Throws for a Redis that keeps no log: then nothing is known.
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
    // With `everysec` a write waits up to two seconds while the disk is busy; the change to `always` writes what waits.
    const sync = await setting('appendfsync');
    await redis.config('SET', 'appendfsync', 'always');
    await redis.config('SET', 'appendfsync', sync);
    return await leaksIn(folder);
  } finally {
    redis.disconnect();
  }
}

/** Throws when a secret stands anywhere in what was found, naming each place. */
export function assertNone(leaks: readonly Leak[]): void {
  if (leaks.length === 0) return;
  const shown = leaks.slice(0, 20).map(({ what, where, around }) => `  ${what}: ${where}\n    ${around}`);
  throw new Error(`${leaks.length} secrets were let out:\n${shown.join('\n')}`);
}
