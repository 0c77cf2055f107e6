import type { Hono, MiddlewareHandler } from 'hono';
import { requireSession } from '../../auth/authenticate.ts';
import { BULL_BOARD_POLICY } from '../../auth/headers.ts';
import type { RateLimit } from '../../auth/rate-limit.ts';
import type { Sessions } from '../../auth/sessions.ts';
import type { Principal } from '../../auth/tokens.ts';
import { BULL_BOARD_API_PATH, BULL_BOARD_PATH, type BullBoard } from '../../bull-board.ts';
import { type Env, notFoundResponse } from '../../hono-env.ts';
import { problem } from '../../problem.ts';

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
export const canSeeBullBoard = ({ orgs }: Principal): boolean => orgs === '*';

/** Adds Bull Board, read-only, for signed-in users of all organizations. Requires `resolveClient`. */
export function addBullBoard(
  app: Hono<Env>,
  { bullBoard, sessions, limit, toSignIn, problemsAsPages }: BullBoardPorts,
): void {
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
