import type { PageAuth } from '../../src/admin/auth/authenticate.ts';
import { createLoginThrottle } from '../../src/admin/auth/login-throttle.ts';
import { createRateLimit } from '../../src/admin/auth/rate-limit.ts';
import type { Sessions } from '../../src/admin/auth/sessions.ts';
import { createTokenVerifier, type TokenEntry } from '../../src/admin/auth/tokens.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { Log } from '../../src/base/log.ts';
import { NO_ADDRESSES } from '../../src/base/net/address-list.ts';

/** No sessions: nobody is signed in, and nobody can sign in. */
const NO_SESSIONS: Sessions = {
  read: async () => undefined,
  inspect: async () => ({ state: 'none' }),
  signIn: async () => ({ signedIn: false, why: 'unknown' }),
  begin: async () => undefined,
  signOut: async () => undefined,
};

/** Authentication that accepts these tokens. */
export const createPageAuth = (
  entries: readonly TokenEntry[],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  change: Partial<PageAuth> = {},
): PageAuth => ({
  tokens: createTokenVerifier(
    async () => entries,
    () => clock.now(),
  ),
  sessions: NO_SESSIONS,
  loginThrottle: createLoginThrottle({ clock, log }),
  limit: createRateLimit(100_000, clock),
  proxies: NO_ADDRESSES,
  names: [],
  ...change,
});
