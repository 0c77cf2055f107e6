import { Hono } from 'hono';
import type { Access } from '../../src/admin/access/access.ts';
import { limitFormSize, resolveClient } from '../../src/admin/auth/client.ts';
import { securityHeaders } from '../../src/admin/auth/headers.ts';
import { redisSessions } from '../../src/admin/auth/sessions.ts';
import { createTokenVerifier, type Principal, type TokenEntry } from '../../src/admin/auth/tokens.ts';
import type { Env } from '../../src/admin/hono-env.ts';
import { addPage } from '../../src/admin/page/page.tsx';
import type { AdminPart } from '../../src/admin/part.ts';
import { toProblemResponse } from '../../src/admin/problem.ts';
import { toDocketError } from '../../src/base/error.ts';
import type { RedisClient } from '../../src/redis/client.ts';
import { accessPorts, NO_AUDIT } from './admin.ts';
import { cookieClient } from './authenticated-app.ts';
import { partsOver } from './features.ts';
import { manualClock } from './manual-clock.ts';
import { createPageAuth } from './page-auth.ts';
import { NOW, sampleAccess } from './page-data.ts';
import { recordingLog } from './queue-harness.ts';

/** The page behind real authentication and sessions, with the sample's data. `change` replaces what a principal sees and does. */
export function openPage(
  { redis, prefix }: { readonly redis: RedisClient; readonly prefix: string },
  entries: readonly TokenEntry[],
  change: (principal: Principal) => Partial<Access> = () => ({}),
  parts: readonly AdminPart[] = partsOver(accessPorts()),
) {
  const clock = manualClock(NOW);
  const log = recordingLog();
  const base = createPageAuth([], { clock, log });
  const tokens = createTokenVerifier(
    async () => entries,
    () => clock.now(),
  );
  const sessions = redisSessions({ redis, prefix, tokens, loginThrottle: base.loginThrottle, audit: NO_AUDIT, clock });
  const app = new Hono<Env>();
  app.use(securityHeaders(), resolveClient(base), limitFormSize());
  addPage(app, {
    sessions,
    limit: base.limit,
    access: (principal) => sampleAccess(principal, change(principal)),
    clock,
    parts,
  });
  app.onError((thrown) => toProblemResponse(toDocketError(thrown)));

  const visit = async (token: string) => {
    const browser = cookieClient({ app });
    const answer = await browser.send('POST', '/sign-in', { body: { token } });
    const csrf = /name="csrf" value="([^"]+)"/.exec(await (await browser.send('GET', '/')).text())?.[1] ?? '';
    return {
      ...browser,
      answer,
      csrf,
      /** Sends a form like the buttons of the page. */
      post: (path: string, fields: Readonly<Record<string, string>>) =>
        browser.send('POST', path, { body: { csrf, ...fields } }),
    };
  };
  return { app, visit };
}
