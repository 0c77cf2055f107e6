import type { Hono } from 'hono';
import { requireSession } from '../../auth/authenticate.ts';
import type { Sessions, SignInResult } from '../../auth/sessions.ts';
import type { Env } from '../../hono-env.ts';
import type { AssetUrls } from '../assets/assets.ts';
import { formatCounted } from '../components/format-numbers.ts';
import { SignIn } from '../views/sign-in-form.tsx';
import { readFormFields, renderDocument, safeRedirectPath } from './page-context.ts';

type Refusal = Extract<SignInResult, { readonly signedIn: false }>;

const REFUSAL_MESSAGES: Readonly<Record<Refusal['why'], string>> = {
  unknown: 'Invalid token. Check for a missing character, or create a new one: `docket tokens create`.',
  expired: 'This token has expired. Create a new one: `docket tokens create`.',
  throttled: 'Too many invalid tokens from this address.',
  insecure:
    'Tokens are accepted over an encrypted connection only. Use a TLS proxy, or open http://localhost on this machine.',
  cross_site: 'The form was sent by another site. Reload this page and try again.',
};
const REFUSAL_STATUSES = { unknown: 401, expired: 401, throttled: 429, insecure: 403, cross_site: 403 } as const;

/** Adds signing in with a token, and signing out. */
export function addSignIn(app: Hono<Env>, { sessions, assets, limit }: SignInPorts): void {
  app.get('/sign-in', async (context) => {
    const to = safeRedirectPath(context.req.query('to'));
    if ((await sessions.read(context)) !== undefined) return context.redirect(to, 303);
    const message = context.req.query('did') === 'out' ? { text: 'You are signed out.', isError: false } : undefined;
    return context.html(await renderDocument(<SignIn assets={assets} to={to} message={message} />));
  });

  app.post('/sign-in', async (context) => {
    const limited = limit.address(context);
    if (limited !== undefined) return limited;
    const { token = '', to } = await readFormFields(context);
    const outcome = await sessions.signIn(context, token);
    if (outcome.signedIn) return context.redirect(safeRedirectPath(to), 303);
    const { why, retryAfterS } = outcome;
    if (retryAfterS !== undefined) context.header('Retry-After', String(retryAfterS));
    const wait = retryAfterS === undefined ? '' : ` Wait ${formatCounted(retryAfterS, 'second')}.`;
    const message = { text: REFUSAL_MESSAGES[why] + wait, isError: true };
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
