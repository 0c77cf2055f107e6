import type { AddressList } from '../../base/address-list.ts';
import type { AuthPorts } from './authenticate.ts';
import type { Sessions } from './sessions.ts';

/** What decides who may ask, and who it is: `knowClient`, `authenticated` and `signedIn` are made of it. */
export interface Auth extends AuthPorts {
  /** Those whose forwarded headers are believed. */
  readonly proxies: AddressList;
  /** Names of ours beside addresses and localhost, lower case, without port. */
  readonly names: readonly string[];
}

/** The door of a process that has the page. */
export interface PageAuth extends Auth {
  readonly sessions: Sessions;
}
