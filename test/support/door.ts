import type { PageDoor } from '../../src/admin/auth/door.ts';
import { countGuesses } from '../../src/admin/auth/guesses.ts';
import { rateLimit } from '../../src/admin/auth/rate-limit.ts';
import type { Sessions } from '../../src/admin/auth/sessions.ts';
import { judgeBy, type TokenEntry } from '../../src/admin/auth/tokens.ts';
import { NO_ADDRESSES } from '../../src/base/address-list.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { Log } from '../../src/base/log.ts';

/** Nobody is signed in, and nobody can. */
const NO_SESSIONS: Sessions = {
  read: async () => undefined,
  signIn: async () => ({ signedIn: false, why: 'unknown' }),
  signOut: async () => {},
};

/** A door that lets these tokens in. */
export const aDoor = (
  entries: readonly TokenEntry[],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  change: Partial<PageDoor> = {},
): PageDoor => ({
  tokens: judgeBy(
    async () => entries,
    () => clock.now(),
  ),
  sessions: NO_SESSIONS,
  guesses: countGuesses({ clock, log }),
  limit: rateLimit(100_000, clock),
  proxies: NO_ADDRESSES,
  names: [],
  ...change,
});
