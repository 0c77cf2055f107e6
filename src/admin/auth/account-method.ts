import type { Hono } from 'hono';
import type { RedisClient } from '../../redis/client.ts';
import type { Env } from '../hono-env.ts';
import type { AssetUrls } from '../page/assets/assets.ts';
import type { SignInMessage } from '../page/views/sign-in-form.tsx';
import type { LoginThrottle } from './login-throttle.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Sessions, StoredAccounts } from './sessions.ts';

/** A second way to sign in, besides tokens: an account that a provider confirms. */
export interface AccountMethod extends StoredAccounts {
  /** The provider's name for people, e.g. `login.example.com`. */
  readonly providerName: string;
  /** The path at which a sign-in begins; `to` in its query is the path to continue at. */
  readonly startPath: string;
  /** Adds the routes to the provider and back. */
  addRoutes(app: Hono<Env>, parts: AccountRouteParts): void;
  /** The page that leads to the provider's own sign-out; undefined if the provider has none. */
  signOutPage(assets: AssetUrls): Promise<string | undefined>;
}

export interface AccountRouteParts {
  readonly sessions: Sessions;
  readonly limit: RateLimit;
  readonly assets: AssetUrls;
  /** The page with all ways to sign in. */
  readonly signInPage: (to: string, message: SignInMessage) => Promise<string>;
}

/** Whether one of these accounts may get access to the organization, as far as this can be known before a sign-in. */
export type MayAdmit = (accounts: readonly string[], org: string) => boolean;

/** A configured method of signing in. */
export interface AccountSetup {
  /** The host name to which the provider sends browsers back. */
  readonly hostName: string;
  /** URL of the provider, whose certificate is checked. */
  readonly issuer: string;
  /** Throws `config.invalid`. */
  mayAdmit(): Promise<MayAdmit>;
  /** Does not call the provider yet. Throws `config.invalid`, `config.secret_missing`. */
  open(parts: {
    readonly redis: RedisClient;
    readonly prefix: string;
    readonly loginThrottle: LoginThrottle;
  }): Promise<AccountMethod>;
}
