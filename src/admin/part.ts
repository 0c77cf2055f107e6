import type { Hono } from 'hono';
import type { AdminApp, Env } from './hono-env.ts';
import type { Panels } from './page/components/layout.tsx';
import type { PageContext } from './page/routes/page-context.ts';

/** What a feature adds to the admin route. */
export interface AdminPart {
  /** Adds routes below `/api/`. */
  readonly addApi?: (app: AdminApp) => void;
  /** Adds pages, which require a session. */
  readonly addViews?: (app: Hono<Env>, page: PageContext) => void;
  /** Shown on the page of a report, and on the page of a run below its files. */
  readonly panels?: Panels;
  /** Shown in the header of each page. @param self path and query of the page */
  readonly header?: (self: string) => unknown;
}
