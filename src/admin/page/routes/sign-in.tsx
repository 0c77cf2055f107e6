import type { Hono } from 'hono';
import type { AccountMethod } from '../../auth/account-method.ts';
import { requireSession } from '../../auth/authenticate.ts';
import type { Sessions, SignInResult } from '../../auth/sessions.ts';
import type { Env } from '../../hono-env.ts';
import type { AssetUrls } from '../assets/assets.ts';
import { formatCounted } from '../components/format-numbers.ts';
import { SignIn, type SignInMessage } from '../views/sign-in-form.tsx';
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

/** Adds the sign-in with a token or an account, and the sign-out. */
export function addSignIn(app: Hono<Env>, ports: SignInPorts): void {
  const { sessions, assets, limit, accounts } = ports;
  const provider = accounts?.providerName;
  const signInPage = async (to: string, message?: SignInMessage): Promise<string> =>
    renderDocument(<SignIn assets={assets} to={to} message={message} accounts={accounts} />);

  app.get('/sign-in', async (context) => {
    const to = safeRedirectPath(context.req.query('to'));
    const { state } = await sessions.inspect(context);
    if (state === 'active') return context.redirect(to, 303);
    const message =
      state === 'unconfirmed'
        ? {
            text: `${provider} does not answer, so your account cannot be confirmed. Reload in a moment, or sign in with a token.`,
            isError: true,
          }
        : { text: 'You are signed out.', isError: false };
    const hasMessage = state === 'unconfirmed' || context.req.query('did') === 'out';
    return context.html(await signInPage(to, hasMessage ? message : undefined));
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
    const message = { text: REFUSAL_MESSAGES[why] + wait, isError: true, about: 'token' } as const;
    return context.html(await signInPage(safeRedirectPath(to), message), REFUSAL_STATUSES[why]);
  });

  accounts?.addRoutes(app, { sessions, limit, assets, signInPage });

  app.post(
    '/sign-out',
    requireSession({ sessions, limit }, (context) => context.redirect('/sign-in', 303)),
    async (context) => {
      const ended = await sessions.signOut(context);
      // A page instead of a redirect: the policy keeps forms on this site, and their redirects too.
      const goOn = ended?.principal.kind === 'account' ? await accounts?.signOutPage(assets) : undefined;
      return goOn === undefined ? context.redirect('/sign-in?did=out', 303) : context.html(goOn);
    },
  );
}

interface SignInPorts {
  readonly sessions: Sessions;
  readonly assets: AssetUrls;
  readonly limit: Parameters<typeof requireSession>[0]['limit'];
  /** Absent if accounts cannot sign in. */
  readonly accounts?: AccountMethod | undefined;
}

/** Paths of the sign-in. Their problems are shown as pages. */
export const SIGN_IN_PATHS = ['/sign-in/*', '/sign-out'] as const;
