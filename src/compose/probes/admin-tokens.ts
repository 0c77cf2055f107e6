import { stat } from 'node:fs/promises';
import { readTokens } from '../../admin/auth/token-file.ts';
import type { TokenEntry } from '../../admin/auth/tokens.ts';
import { isErrno } from '../../base/errno.ts';
import { DAY_MS } from '../../base/time.ts';
import { type CheckResult, ok, warn } from '../../services/deployment/probe.ts';

/** A token is reported from this many days before it expires. */
const EXPIRY_WARNING_DAYS = 14;

/** @param mode of the file; only its permission bits are used */
export function evaluateTokens(
  entries: readonly Pick<TokenEntry, 'name' | 'expires'>[],
  mode: number,
  now: number,
): CheckResult {
  const count = `${entries.length} ${entries.length === 1 ? 'token' : 'tokens'}`;
  if ((mode & 0o022) !== 0) {
    return warn(`${count}, and others may write the file: they can add tokens`, 'Run `chmod 600` on it.');
  }
  if (entries.length === 0)
    return warn('no token: the admin route cannot be used', 'Create one with `docket tokens create`.');
  const parseEnd = (expires: string) => Date.parse(`${expires}T00:00:00Z`) + DAY_MS;
  const ending = entries.flatMap(({ name, expires }) =>
    expires === undefined ? [] : [{ name, expires, end: parseEnd(expires) }],
  );
  const expired = ending.filter(({ end }) => end <= now);
  const remedy = 'Create a new one with `docket tokens create`, and remove the old one with `docket tokens revoke`.';
  if (expired.length > 0) return warn(`${count}; expired: ${expired.map(({ name }) => name).join(', ')}`, remedy);
  const soon = ending.filter(({ end }) => end <= now + EXPIRY_WARNING_DAYS * DAY_MS);
  if (soon.length > 0) {
    return warn(
      `${count}; soon expired: ${soon.map(({ name, expires }) => `${name} (${expires})`).join(', ')}`,
      remedy,
    );
  }
  return (mode & 0o044) === 0 ? ok(count) : ok(`${count}; others may read the file, which only contains hashes`);
}

export async function checkAdminTokens(path: string, now: number): Promise<CheckResult> {
  // A missing file is fine: the first token creates it.
  const file = await stat(path).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  });
  return file === undefined ? evaluateTokens([], 0o600, now) : evaluateTokens(await readTokens(path), file.mode, now);
}
