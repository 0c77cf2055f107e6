import type { Context } from 'hono';
import type { Access } from '../access.ts';
import type { Env } from '../env.ts';
import type { Frame } from './frame.tsx';

/** What handlers of the page are given beside the request. */
export interface Desk {
  readonly access: (context: Context<Env>) => Access;
  /** What stands around the page. @param access as of this request */
  readonly frame: (context: Context<Env>, access: Access) => Promise<Frame>;
  /** Epoch ms. */
  readonly now: () => number;
}
