import type { Hono } from 'hono';
import { requireSession } from '../../auth/authenticate.ts';
import type { SignInResult as Outcome, Sessions } from '../../auth/sessions.ts';
import type { Env } from '../../hono-env.ts';
import type { AssetUrls } from '../assets/assets.ts';
import { formatCounted } from '../components/format-numbers.ts';
import { SignIn } from '../views/sign-in-form.tsx';
import { readFormFields, renderDocument, safeRedirectPath } from './page-context.ts';

type Refusal = Extract<Outcome, { readonly signedIn: false }>;

const REFUSAL_MESSAGES: Readonly<Record<Refusal['why'], string>> = {
  unknown: 'This token is not accepted. Look for a missing character, or ask for a new one.',
  expired: 'This token has expired. Ask for a new one: `docket tokens create`.',
  throttled: 'Too many tokens were refused from this address.',
  insecure:
    'A token must not travel in clear. Put a proxy with TLS in front, or open the page on this machine as http://localhost.',
  cross_site: 'The form did not come from this page. Load it anew and try again.',
};
const REFUSAL_STATUSES = { unknown: 401, expired: 401, throttled: 429, insecure: 403, cross_site: 403 } as const;

/** Signing in with a token, and signing out. */
export function addSignIn(app: Hono<Env>, { sessions, assets, limit }: SignInPorts): void {
  app.get('/sign-in', async (context) => {
    const to = safeRedirectPath(context.req.query('to'));
    if ((await sessions.read(context)) !== undefined) return context.redirect(to, 303);
    const message = context.req.query('did') === 'out' ? { text: 'You are signed out.', grave: false } : undefined;
    return context.html(await renderDocument(<SignIn assets={assets} to={to} message={message} />));
  });

  app.post('/sign-in', async (context) => {
    const refused = limit.address(context);
    if (refused !== undefined) return refused;
    const { token = '', to } = await readFormFields(context);
    const outcome = await sessions.signIn(context, token);
    if (outcome.signedIn) return context.redirect(safeRedirectPath(to), 303);
    const { why, retryAfterS } = outcome;
    if (retryAfterS !== undefined) context.header('Retry-After', String(retryAfterS));
    const wait = retryAfterS === undefined ? '' : ` Wait ${formatCounted(retryAfterS, 'second')}.`;
    const message = { text: REFUSAL_MESSAGES[why] + wait, grave: true };
    return context.html(
      await renderDocument(<SignIn assets={assets} to={safeRedirectPath(to)} message={message} />),
      REFUSAL_STATUSES[why],
    );
  });

  app.post(
    '/sign-out',
    requireSession({ sessions, limit }, (context) => context.redirect('/sign-in', 303)),
    async (context) => {
      await sessions.signOut(context);
      return context.redirect('/sign-in?did=out', 303);
    },
  );
}

interface SignInPorts {
  readonly sessions: Sessions;
  readonly assets: AssetUrls;
  readonly limit: Parameters<typeof requireSession>[0]['limit'];
}
