import type { Hono, MiddlewareHandler } from 'hono';
import { signedIn } from '../auth/authenticate.ts';
import { BOARD_POLICY } from '../auth/headers.ts';
import type { RateLimit } from '../auth/rate-limit.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { Principal } from '../auth/tokens.ts';
import { BOARD, BOARD_API, type Board } from '../board.ts';
import { type Env, notFound } from '../env.ts';
import { problem } from '../problem.ts';

/** What Bull Board is put behind. */
interface BoardDoor {
  readonly board: Board;
  readonly sessions: Sessions;
  readonly limit: RateLimit;
  /** The way to the sign-in form, for a person. */
  readonly toSignIn: Parameters<typeof signedIn>[1];
  /** Shows a person what is refused. */
  readonly problemsAsPages: MiddlewareHandler<Env>;
}

/** Jobs of one answer: its script asks for ten unless its reader wants more. */
const MOST_JOBS = 100;

/** Jobs are named after their organizations, and one list holds all of them: it is for those who see them all. */
export const maySeeBoard = ({ orgs }: Principal): boolean => orgs === '*';

/** Adds Bull Board, to be looked at by whoever is signed in and sees every organization. Expects `knowClient` before it. */
export function addBoard(app: Hono<Env>, { board, sessions, limit, toSignIn, problemsAsPages }: BoardDoor): void {
  const place = `${BOARD}/*`;
  const isData = (path: string): boolean => path.startsWith(BOARD_API);
  app.use(place, (context, next) => (isData(context.req.path) ? next() : problemsAsPages(context, next)));
  // Before anything else, and whatever its own read-only mode would say: only Docket changes jobs, with their records.
  app.use(place, async (context, next) => {
    if (context.req.method === 'GET' || context.req.method === 'HEAD') return next();
    return problem('request.method_not_allowed', { expected: 'GET, HEAD' }, { Allow: 'GET, HEAD' });
  });
  app.use(
    place,
    signedIn({ sessions, limit }, (context) =>
      isData(context.req.path) ? problem('auth.missing', { next: 'Sign in to the page.' }) : toSignIn(context),
    ),
  );
  app.use(place, async (context, next) => {
    if (!maySeeBoard(context.get('principal'))) return notFound(context);
    if (Number(context.req.query().jobsPerPage ?? 0) > MOST_JOBS) {
      return problem('request.invalid', { expected: `jobsPerPage of ${MOST_JOBS} at most` });
    }
    await next();
    const { headers } = context.res;
    if (headers.get('Content-Type')?.startsWith('text/html')) {
      headers.set('Content-Security-Policy', BOARD_POLICY);
      headers.set('X-Frame-Options', 'DENY');
    }
    if (context.req.path.startsWith(`${BOARD}/static/`)) headers.set('Cache-Control', 'private, max-age=3600');
    return undefined;
  });
  app.get(`${BOARD}/`, (context) => context.redirect(BOARD, 301));
  app.route(BOARD, board.app);
}
