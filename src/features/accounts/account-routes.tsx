import type { Context, Hono } from 'hono';
import type { AccountMethod, AccountRouteParts } from '../../admin/auth/account-method.ts';
import type { StoredAccounts } from '../../admin/auth/sessions.ts';
import type { Env } from '../../admin/hono-env.ts';
import { renderDocument, safeRedirectPath } from '../../admin/page/routes/page-context.ts';
import { DocketError } from '../../base/error.ts';
import { NoAccess, SignedIn, SigningOut } from './account-pages.tsx';
import { type AccountSignIn, type SignInEnd, START_PATH } from './account-sign-in.ts';
import { CALLBACK_PATH } from './settings.ts';

type Refused = Extract<SignInEnd, { readonly signedIn: false }>;

/** The cookie of a sign-in contains the path, so it must not be longer. */
const MAX_PATH_LENGTH = 1_000;

const REFUSAL_STATUSES = { flow: 400, insecure: 403, provider: 403, no_access: 403 } as const;
const FLOW_MESSAGE =
  'This sign-in was not begun in this browser, or more than ten minutes ago, or in an older tab. Begin again.';
const INSECURE_MESSAGE =
  'Accounts can sign in over an encrypted connection only. Open the page by https://, or http://localhost on this machine.';

/** Combines the sign-in and the stored accounts into the sign-in method of the page. */
export const createAccountMethod = ({ resume, end }: StoredAccounts, signIn: AccountSignIn): AccountMethod => ({
  resume,
  end,
  providerName: signIn.providerName,
  startPath: START_PATH,
  addRoutes: (app, parts) => addAccountRoutes(app, signIn, parts),
  signOutPage: async (assets) => {
    const url = await signIn.providerSignOut();
    if (url === undefined) return undefined;
    return renderDocument(<SigningOut assets={assets} provider={signIn.providerName} to={url.href} />);
  },
});

/** Adds the routes to the provider and back. */
function addAccountRoutes(app: Hono<Env>, signIn: AccountSignIn, parts: AccountRouteParts): void {
  const { sessions, assets, limit, signInPage } = parts;
  const { providerName: name } = signIn;

  app.get(START_PATH, async (context) => {
    const limited = limit.address(context);
    if (limited !== undefined) return limited;
    const requestedPath = context.req.query('to');
    const to = safeRedirectPath(
      requestedPath !== undefined && requestedPath.length > MAX_PATH_LENGTH ? undefined : requestedPath,
    );
    if ((await sessions.read(context)) !== undefined) return context.redirect(to, 303);
    try {
      const start = await signIn.begin(context, to);
      if (start.to !== 'nowhere') return context.redirect(start.url.href, 303);
      return context.html(await signInPage(to, { text: INSECURE_MESSAGE, isError: true }), 403);
    } catch (error) {
      if (!(error instanceof DocketError) || !error.code.startsWith('oidc.')) throw error;
      return providerProblem(context, to, error);
    }
  });

  /** @param reason shown only to people whom the provider has sent back: it reveals details of the network */
  const providerProblem = async (
    context: Context<Env>,
    to: string,
    { code, retryable }: DocketError,
    reason?: string,
  ): Promise<Response> => {
    if (retryable) context.header('Retry-After', '5');
    const message = { text: providerMessage(code, name), isError: true, reason };
    return context.html(await signInPage(to, message), retryable ? 503 : 502);
  };

  const refusal = async (context: Context<Env>, end: Refused): Promise<Response> => {
    const { why, error, account, retryAfterS } = end;
    const to = safeRedirectPath(end.to);
    if (retryAfterS !== undefined) {
      context.header('Retry-After', String(retryAfterS));
      const text = `Too many failed sign-ins from this address. Wait ${retryAfterS} s.`;
      return context.html(await signInPage(to, { text, isError: true }), 429);
    }
    if (account !== undefined)
      return context.html(await renderDocument(<NoAccess assets={assets} account={account} to={to} />), 403);
    if (error !== undefined && error.code !== 'oidc.refused') return providerProblem(context, to, error, error.got);
    const text =
      error === undefined ? (why === 'insecure' ? INSECURE_MESSAGE : FLOW_MESSAGE) : providerMessage(error.code, name);
    return context.html(await signInPage(to, { text, isError: true, reason: error?.got }), REFUSAL_STATUSES[why]);
  };

  app.get(CALLBACK_PATH, async (context) => {
    const limited = limit.address(context);
    if (limited !== undefined) return limited;
    const end = await signIn.complete(context, sessions);
    if (!end.signedIn) return refusal(context, end);
    return context.html(
      await renderDocument(<SignedIn assets={assets} name={end.name} to={safeRedirectPath(end.to)} />),
    );
  });
}

function providerMessage(code: string, name: string): string {
  if (code === 'oidc.unavailable') return `${name} does not answer. Try again in a moment, or sign in with a token.`;
  if (code === 'oidc.refused') return `${name} refused the sign-in.`;
  const remedy = 'An administrator can find the reason with `docket doctor`. Until then, sign in with a token.';
  return code === 'oidc.client_refused'
    ? `${name} does not accept Docket as a client. ${remedy}`
    : `${name} sent an invalid response. ${remedy}`;
}
