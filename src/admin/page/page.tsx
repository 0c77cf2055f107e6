import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { IANAZone } from 'luxon';
import type { Clock } from '../../base/clock.ts';
import { DAY_MS, SECOND_MS } from '../../base/time.ts';
import type { Access } from '../access/access.ts';
import type { OrganizationEntry } from '../access/reports.ts';
import type { AccountMethod } from '../auth/account-method.ts';
import { requireSession } from '../auth/authenticate.ts';
import { BULL_BOARD_POLICY } from '../auth/headers.ts';
import type { RateLimit } from '../auth/rate-limit.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { Principal } from '../auth/tokens.ts';
import { BULL_BOARD_API_PATH, BULL_BOARD_PATH, type BullBoard } from '../bull-board.ts';
import { type Env, notFoundResponse } from '../hono-env.ts';
import type { AdminPart } from '../part.ts';
import { problem, problemSchema } from '../problem.ts';
import { type PageAssets, readAssets } from './assets/assets.ts';
import { type PageZone, ZONE_CHOICES, type ZoneChoice, type ZoneSubject } from './components/header/zone-choice.tsx';
import { collectZones } from './components/time.tsx';
import { addActions } from './routes/actions.tsx';
import { loadUndecided } from './routes/loaders.ts';
import { type PageContext, readFormFields, renderDocument, safeRedirectPath, selfPath } from './routes/page-context.ts';
import { addSignIn, SIGN_IN_PATHS } from './routes/sign-in.tsx';
import { addViews } from './routes/views.tsx';
import { ProblemPage } from './views/problem.tsx';

export interface PagePorts {
  readonly sessions: Sessions;
  /** Absent if accounts cannot sign in. */
  readonly accounts?: AccountMethod | undefined;
  readonly limit: RateLimit;
  readonly access: (principal: Principal) => Access;
  readonly clock: Clock;
  /** Absent if Bull Board is disabled. */
  readonly bullBoard?: BullBoard | undefined;
  /** The parts that features add. */
  readonly parts?: readonly AdminPart[] | undefined;
}

/** Adds the web page to the admin server. Requires `resolveClient`. */
export function addPage(app: Hono<Env>, ports: PagePorts): void {
  const { sessions, limit, clock, bullBoard, parts = [] } = ports;
  const assets = readAssets();
  addAssets(app, assets);
  const page: PageContext = {
    access: (context) => ports.access(context.get('principal')),
    layout: async (context, access, subject = {}) => {
      const [undecided, organizations, corrections, switches, pauses] = await Promise.all([
        loadUndecided(access),
        access.organizations(),
        access.correctionSummaries(),
        access.switches(),
        access.pauses(),
      ]);
      return {
        principal: context.get('principal'),
        csrf: context.get('session')?.csrf ?? '',
        assets: assets.urls,
        undecided: undecided.length,
        corrections: corrections.some(({ watched, open }) => watched + open > 0),
        switches,
        pauses,
        now: clock.now(),
        zone: pageZone(context, organizations, subject),
        self: selfPath(context),
        header: parts.flatMap(({ header }) => header ?? []),
        panels: parts.flatMap(({ panels }) => panels ?? []),
        titleOf: access.titleOf,
        bullBoard: bullBoard !== undefined && canSeeBullBoard(context.get('principal')),
      };
    },
    now: () => clock.now(),
  };
  const toSignIn = (context: Context<Env>): Response => {
    const { pathname, search } = new URL(context.req.url);
    const query =
      context.req.method === 'GET' && pathname !== '/' ? `?to=${encodeURIComponent(pathname + search)}` : '';
    // A new response, because `context.redirect` would merge headers that an earlier handler set.
    return new Response(null, { status: 303, headers: { Location: `/sign-in${query}` } });
  };
  // Browsers get HTML for every address, even one that does not exist.
  app.use(async (context, next) => {
    if (!isBrowserNavigation(context)) return next();
    await renderProblemsAsPages(assets)(context, async () => {
      await next();
      if (context.res.status !== 401) return;
      context.res = undefined;
      context.res = toSignIn(context);
    });
    return undefined;
  });
  const pages = new Hono<Env>();
  addViews(pages, page);
  for (const part of parts) part.addViews?.(pages, page);
  addActions(pages, page);
  addZoneChoice(pages);
  // Open pages call it to check that Docket and Redis respond and the session is still valid. `requireSession` has
  // already read Redis.
  pages.get('/pulse', (context) => context.body(null, 204));
  // Also covers all paths below a page, even those that are not pages themselves.
  const paths = new Set(pages.routes.map(({ path }) => (path === '/' ? path : path.replace(/^(\/[^/]+).*/, '$1/*'))));
  for (const path of [...paths, ...SIGN_IN_PATHS]) app.use(path, renderProblemsAsPages(assets));
  addSignIn(app, { sessions, limit, assets: assets.urls, accounts: ports.accounts });
  for (const path of paths) app.use(path, requireSession({ sessions, limit }, toSignIn));
  app.route('/', pages);
  if (bullBoard !== undefined) {
    addBullBoard(app, { bullBoard, sessions, limit, toSignIn, problemsAsPages: renderProblemsAsPages(assets) });
  }
}

/** Serves the page's assets without a session. Browsers cache them forever, because their names contain a hash. */
function addAssets(app: Hono<Env>, { files }: PageAssets): void {
  for (const [path, { type, body, gzipped }] of files) {
    app.get(path, (context) => {
      const zip = /\bgzip\b(?!\s*;\s*q=0(\.0+)?\b)/i.test(context.req.header('accept-encoding') ?? '');
      return context.body(zip ? gzipped : body, 200, {
        'Content-Type': type,
        'Cache-Control': 'public, max-age=31536000, immutable',
        'X-Content-Type-Options': 'nosniff',
        Vary: 'Accept-Encoding',
        ...(zip ? { 'Content-Encoding': 'gzip' } : {}),
      });
    });
  }
}

/** Whether a browser navigates to a page. False for scripts and API clients. */
const isBrowserNavigation = ({ req }: Context<Env>): boolean =>
  req.method === 'GET' &&
  !/^\/(api\/|assets\/|metrics$)/.test(req.path) &&
  req.header('authorization') === undefined &&
  (req.header('accept')?.includes('text/html') ?? false);

/** Renders problem responses of later handlers as pages. */
function renderProblemsAsPages({ urls }: PageAssets) {
  return async (context: Context<Env>, next: () => Promise<void>): Promise<void> => {
    await next();
    const { status, headers } = context.res;
    if (!headers.get('content-type')?.startsWith('application/problem+json')) return;
    const problem = problemSchema.safeParse(await context.res.clone().json());
    if (!problem.success) return;
    const retry = context.req.method === 'GET' ? selfPath(context) : undefined;
    const html = await renderDocument(<ProblemPage assets={urls} problem={problem.data} retry={retry} />);
    const pageHeaders = new Headers(headers);
    pageHeaders.set('Content-Type', 'text/html; charset=utf-8');
    // Unset it first: otherwise Hono merges the headers of both responses.
    context.res = undefined;
    context.res = new Response(html, { status, headers: pageHeaders });
  };
}

/** The cookie holds only a preference: `org`, `utc` or `viewer:<IANA zone>`. */
const ZONE_COOKIE = 'docket-zone';
const ZONE_COOKIE_LIFETIME_S = (365 * DAY_MS) / SECOND_MS;

interface StoredChoice {
  readonly choice: ZoneChoice;
  readonly viewer: string | null;
}

/** Unreadable values, such as an unknown zone, count as the default, `org`. */
export function parseZoneChoice(text: string | undefined): StoredChoice {
  const [word, ...rest] = (text ?? '').split(':');
  const choice = ZONE_CHOICES.find((each) => each === word) ?? 'org';
  const viewer = rest.join(':');
  if (choice !== 'viewer') return { choice, viewer: null };
  return viewer.length <= 64 && IANAZone.isValidZone(viewer) ? { choice, viewer } : { choice: 'org', viewer: null };
}

/** The zone of a page, which all of its times use. */
function pageZone(
  context: Context<Env>,
  organizations: readonly Pick<OrganizationEntry, 'org' | 'timezone'>[],
  { zone, org }: ZoneSubject,
): PageZone {
  const { choice, viewer } = parseZoneChoice(getCookie(context, ZONE_COOKIE));
  const zones = collectZones(organizations);
  const ofSubject = zone ?? (org === undefined ? zones.shared : zones.of(org));
  const name = choice === 'utc' ? 'UTC' : (viewer ?? ofSubject);
  return { choice, name, org: ofSubject, viewer };
}

/** Adds the form's target: it stores the choice and returns to the page. */
function addZoneChoice(app: Hono<Env>): void {
  app.post('/zone', async (context) => {
    const { zone, from } = await readFormFields(context);
    const { choice, viewer } = parseZoneChoice(zone);
    setCookie(context, ZONE_COOKIE, viewer === null ? choice : `${choice}:${viewer}`, {
      path: '/',
      httpOnly: true,
      sameSite: 'Strict',
      secure: context.get('client').secure,
      maxAge: ZONE_COOKIE_LIFETIME_S,
    });
    return context.redirect(safeRedirectPath(from), 303);
  });
}

interface BullBoardPorts {
  readonly bullBoard: BullBoard;
  readonly sessions: Sessions;
  readonly limit: RateLimit;
  /** Redirects to the sign-in form. */
  readonly toSignIn: Parameters<typeof requireSession>[1];
  /** Renders problems as pages. */
  readonly problemsAsPages: MiddlewareHandler<Env>;
}

/** Maximum jobs per response. Bull Board requests ten by default. */
const MAX_JOBS = 100;

/** Bull Board lists the jobs of all organizations, so it is only for principals of all organizations. */
const canSeeBullBoard = ({ orgs }: Principal): boolean => orgs === '*';

/** Adds Bull Board, read-only, for signed-in users of all organizations. Requires `resolveClient`. */
function addBullBoard(app: Hono<Env>, { bullBoard, sessions, limit, toSignIn, problemsAsPages }: BullBoardPorts): void {
  const paths = `${BULL_BOARD_PATH}/*`;
  const isData = (path: string): boolean => path.startsWith(BULL_BOARD_API_PATH);
  app.use(paths, (context, next) => (isData(context.req.path) ? next() : problemsAsPages(context, next)));
  // A guard of our own, besides Bull Board's read-only mode: only Docket may change jobs, together with their records.
  app.use(paths, async (context, next) => {
    if (context.req.method === 'GET' || context.req.method === 'HEAD') return next();
    return problem('request.method_not_allowed', { expected: 'GET, HEAD' }, { Allow: 'GET, HEAD' });
  });
  app.use(
    paths,
    requireSession({ sessions, limit }, (context) =>
      isData(context.req.path) ? problem('auth.missing', { next: 'Sign in to the page.' }) : toSignIn(context),
    ),
  );
  app.use(paths, async (context, next) => {
    if (!canSeeBullBoard(context.get('principal'))) return notFoundResponse(context);
    if (Number(context.req.query().jobsPerPage ?? 0) > MAX_JOBS) {
      return problem('request.invalid', { expected: `jobsPerPage of ${MAX_JOBS} at most` });
    }
    await next();
    const { headers } = context.res;
    if (headers.get('Content-Type')?.startsWith('text/html')) {
      headers.set('Content-Security-Policy', BULL_BOARD_POLICY);
      headers.set('X-Frame-Options', 'DENY');
    }
    if (context.req.path.startsWith(`${BULL_BOARD_PATH}/static/`))
      headers.set('Cache-Control', 'private, max-age=3600');
    return undefined;
  });
  app.get(`${BULL_BOARD_PATH}/`, (context) => context.redirect(BULL_BOARD_PATH, 301));
  app.route(BULL_BOARD_PATH, bullBoard.app);
}
