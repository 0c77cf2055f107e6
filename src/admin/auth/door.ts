import type { AddressList } from '../../base/address-list.ts';
import type { DoorPorts } from './authenticate.ts';
import type { Sessions } from './sessions.ts';

/** What decides who may ask, and who it is: `knowClient`, `authenticated` and `signedIn` are made of it. */
export interface Door extends DoorPorts {
  /** Those whose forwarded headers are believed. */
  readonly proxies: AddressList;
  /** Names of ours beside addresses and localhost, lower case, without port. */
  readonly names: readonly string[];
}

/** The door of a process that has the page. */
export interface PageDoor extends Door {
  readonly sessions: Sessions;
}
