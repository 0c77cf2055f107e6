import { stat } from 'node:fs/promises';
import { readTokens } from '../../admin/auth/token-file.ts';
import type { TokenEntry } from '../../admin/auth/tokens.ts';
import { examine, type Finding, ok, type Verdict, warn } from './finding.ts';

/** Tokens that end within this many days are told of. */
const SOON_DAYS = 14;
const DAY_MS = 86_400_000;

/** @param mode of the file; its permission bits count */
export function judgeTokens(
  entries: readonly Pick<TokenEntry, 'name' | 'expires'>[],
  mode: number,
  now: number,
): Verdict {
  const counted = `${entries.length} ${entries.length === 1 ? 'token' : 'tokens'}`;
  if ((mode & 0o022) !== 0) {
    return warn(`${counted}, and others may write the file: they can let themselves in`, 'Run `chmod 600` on it.');
  }
  if (entries.length === 0)
    return warn('no token: nobody may use the admin route', '`docket tokens create` makes one.');
  const endOf = (expires: string) => Date.parse(`${expires}T00:00:00Z`) + DAY_MS;
  const ending = entries.flatMap(({ name, expires }) =>
    expires === undefined ? [] : [{ name, expires, end: endOf(expires) }],
  );
  const expired = ending.filter(({ end }) => end <= now);
  const remedy = '`docket tokens create` makes a new one, `docket tokens revoke` takes the old one out.';
  if (expired.length > 0) return warn(`${counted}; expired: ${expired.map(({ name }) => name).join(', ')}`, remedy);
  const soon = ending.filter(({ end }) => end <= now + SOON_DAYS * DAY_MS);
  if (soon.length > 0) {
    return warn(
      `${counted}; soon expired: ${soon.map(({ name, expires }) => `${name} (${expires})`).join(', ')}`,
      remedy,
    );
  }
  return (mode & 0o044) === 0 ? ok(counted) : ok(`${counted}; others may read the file, which holds hashes alone`);
}

export const examineTokens = (path: string, now: number): Promise<Finding> =>
  examine('Tokens of the admin route', async () => {
    // The first token makes the file.
    const file = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    return file === undefined ? judgeTokens([], 0o600, now) : judgeTokens(await readTokens(path), file.mode, now);
  });
