import type { AccountMethod, AccountSetup } from '../../admin/auth/account-method.ts';
import { redisSessionStore } from '../../admin/auth/session-store.ts';
import { SESSION_LIFETIME_MS } from '../../admin/auth/sessions.ts';
import type { AppContext } from '../../base/context.ts';
import { findProxyBy } from '../../base/net/proxies.ts';
import { ensureRedactor } from '../../base/secrets/redactor.ts';
import { secretSource } from '../../base/secrets/secret.ts';
import { createAccountMethod } from './account-routes.tsx';
import { createAccountSessions } from './account-sessions.ts';
import { createAccountSignIn } from './account-sign-in.ts';
import { watchAccounts } from './accounts-file.ts';
import { openIdProvider } from './provider.ts';
import { boundedFetch } from './provider-fetch.ts';
import type { OidcSettings } from './settings.ts';

/** Opens the sign-in for these settings. Throws what `AccountSetup.open` throws. */
export async function openAccounts(
  context: AppContext,
  settings: OidcSettings,
  { redis, prefix, loginThrottle }: Parameters<AccountSetup['open']>[0],
): Promise<AccountMethod> {
  const { config, env, clock, log } = context;
  const { accounts: file, rolesClaim, claimGrantsAccess: claimGrants } = settings;
  const rules = file === undefined ? async () => [] : await watchAccounts(file, { clock, log });
  const secrets = secretSource(env, context);
  const secret = await secrets(settings.clientSecret);
  const fetch = boundedFetch(undefined, findProxyBy(config, secrets));
  const provider = openIdProvider({ settings, secret, redactor: ensureRedactor(context), clock, fetch });
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
  log.info('Accounts sign in at the OpenID provider', { url: settings.issuer });
  const sources = { file: file !== undefined, claim: claimGrants };
  const signIn = createAccountSignIn({ provider, accounts, rolesClaim, sources, loginThrottle, clock, log });
  return createAccountMethod(accounts, signIn);
}
