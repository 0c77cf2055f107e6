import { createAccountSessions } from '../admin/auth/accounts/account-sessions.ts';
import { type AccountSignIn, createAccountSignIn } from '../admin/auth/accounts/account-sign-in.ts';
import { watchAccounts } from '../admin/auth/accounts/accounts-file.ts';
import { openIdProvider } from '../admin/auth/accounts/provider.ts';
import type { Auth } from '../admin/auth/authenticate.ts';
import { redisSessionStore } from '../admin/auth/session-store.ts';
import { redisSessions, SESSION_LIFETIME_MS, type Sessions } from '../admin/auth/sessions.ts';
import { oidcSettings } from '../base/config/oidc-variables.ts';
import type { AppContext } from '../base/context.ts';
import { ensureRedactor } from '../base/secrets/redactor.ts';
import { secretSource } from '../base/secrets/secret.ts';
import type { AuditLog } from '../services/audit-log.ts';
import type { Store } from './store.ts';

/**
 * Sessions of the page, and the sign-in with accounts where a provider is configured. The provider is not asked yet.
 * Throws `config.invalid` for an invalid file of accounts, `config.secret_missing` without the client's secret.
 */
export async function composeSessions(
  context: AppContext,
  { redis, prefix }: Pick<Store, 'redis' | 'prefix'>,
  { tokens, loginThrottle }: Pick<Auth, 'tokens' | 'loginThrottle'>,
  audit: AuditLog,
): Promise<{ readonly sessions: Sessions; readonly accountSignIn: AccountSignIn | undefined }> {
  const { config, env, clock, log } = context;
  const settings = oidcSettings(config);
  const shared = { redis, prefix, tokens, loginThrottle, audit, clock };
  if (settings === undefined) return { sessions: redisSessions(shared), accountSignIn: undefined };
  const { accounts: file, rolesClaim, claimGrantsAccess: claimGrants } = settings;
  const rules = file === undefined ? async () => [] : await watchAccounts(file, { clock, log });
  const secret = await secretSource(env, context)(settings.clientSecret);
  const provider = openIdProvider({ settings, secret, redactor: ensureRedactor(context), clock });
  const accounts = createAccountSessions({
    provider,
    secret,
    rules,
    claimGrants,
    store: redisSessionStore(redis, prefix),
    lifetimeMs: SESSION_LIFETIME_MS,
    clock,
    log,
  });
  const sessions = redisSessions({ ...shared, accounts });
  log.info('Accounts sign in at the OpenID provider', { url: settings.issuer });
  return {
    sessions,
    accountSignIn: createAccountSignIn({
      provider,
      sessions,
      rolesClaim,
      sources: { file: file !== undefined, claim: claimGrants },
      loginThrottle,
      clock,
      log,
    }),
  };
}
