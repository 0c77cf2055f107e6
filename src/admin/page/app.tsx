import type { Context, Hono } from 'hono';
import type { Clock } from '../../base/clock.ts';
import type { Access } from '../access.ts';
import { signedIn } from '../auth/authenticate.ts';
import type { RateLimit } from '../auth/rate-limit.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { Principal } from '../auth/tokens.ts';
import type { Board } from '../board.ts';
import type { Env } from '../env.ts';
import { problemSchema } from '../problem.ts';
import { addActions } from './actions.tsx';
import { type KeptAssets, readAssets } from './assets.ts';
import { addBoard, maySeeBoard } from './board.ts';
import type { Desk } from './desk.ts';
import { document } from './document.ts';
import { addDoor } from './door.tsx';
import { loadUndecided } from './loads.ts';
import { ProblemPage } from './problem-page.tsx';
import { addViews } from './views.tsx';

/** What the page stands on. */
export interface PagePorts {
  readonly sessions: Sessions;
  readonly limit: RateLimit;
  readonly access: (principal: Principal) => Access;
  readonly clock: Clock;
  /** Bull Board, where somebody wants it. */
  readonly board?: Board | undefined;
}

/** Everything that only somebody who is signed in may see. */
const PLACES = [
  '/',
  '/reports/*',
  '/runs/*',
  '/deliveries/*',
  '/slots',
  '/pauses',
  '/organizations/*',
  '/audit',
] as const;

/** Adds the operator's page to the admin route. Expects `knowClient` before it. */
export function addPage(app: Hono<Env>, ports: PagePorts): void {
  const { sessions, limit, clock, board } = ports;
  const assets = readAssets();
  addAssets(app, assets);
  const desk: Desk = {
    access: (context) => ports.access(context.get('principal')),
    frame: async (context, access) => ({
      principal: context.get('principal'),
      csrf: context.get('session')?.csrf ?? '',
      assets: assets.urls,
      undecided: (await loadUndecided(access)).length,
      now: clock.now(),
      board: board !== undefined && maySeeBoard(context.get('principal')),
    }),
    now: () => clock.now(),
  };
  const toSignIn = (context: Context<Env>): Response => {
    const { pathname, search } = new URL(context.req.url);
    const wanted =
      context.req.method === 'GET' && pathname !== '/' ? `?to=${encodeURIComponent(pathname + search)}` : '';
    // Not by the context: what another handler has answered before would be mixed in.
    return new Response(null, { status: 303, headers: { Location: `/sign-in${wanted}` } });
  };
  // Whoever types an address into a browser is a person, be it an address of ours or not.
  app.use(async (context, next) => {
    if (!isPersons(context)) return next();
    await problemsAsPages(assets)(context, async () => {
      await next();
      if (context.res.status !== 401) return;
      context.res = undefined;
      context.res = toSignIn(context);
    });
    return undefined;
  });
  const enter = signedIn({ sessions, limit }, toSignIn);
  for (const place of [...PLACES, '/sign-in', '/sign-out']) app.use(place, problemsAsPages(assets));
  addDoor(app, { sessions, limit, assets: assets.urls });
  for (const place of PLACES) app.use(place, enter);
  addViews(app, desk);
  addActions(app, desk);
  if (board !== undefined) {
    addBoard(app, { board, sessions, limit, toSignIn, problemsAsPages: problemsAsPages(assets) });
  }
}

/** The page's own files: for anybody, and for ever, since another content has another name. */
function addAssets(app: Hono<Env>, { files }: KeptAssets): void {
  for (const [path, { type, body }] of files) {
    app.get(path, (context) =>
      context.body(body, 200, {
        'Content-Type': type,
        'Cache-Control': 'public, max-age=31536000, immutable',
        'X-Content-Type-Options': 'nosniff',
      }),
    );
  }
}

/** Whether a person's browser asks for a page; what scripts ask of the API stays data. */
const isPersons = ({ req }: Context<Env>): boolean =>
  req.method === 'GET' &&
  !/^\/(api\/|assets\/|metrics$)/.test(req.path) &&
  req.header('authorization') === undefined &&
  (req.header('accept')?.includes('text/html') ?? false);

/** Whatever is refused or fails behind it is shown to a person. */
function problemsAsPages({ urls }: KeptAssets) {
  return async (context: Context<Env>, next: () => Promise<void>): Promise<void> => {
    await next();
    const { status, headers } = context.res;
    if (!headers.get('content-type')?.startsWith('application/problem+json')) return;
    const problem = problemSchema.safeParse(await context.res.clone().json());
    if (!problem.success) return;
    const shown = await document(<ProblemPage assets={urls} problem={problem.data} />);
    const kept = new Headers(headers);
    kept.set('Content-Type', 'text/html; charset=utf-8');
    // Unset first: Hono would otherwise merge the headers of both.
    context.res = undefined;
    context.res = new Response(shown, { status, headers: kept });
  };
}
