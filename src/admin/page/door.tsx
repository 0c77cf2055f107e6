import type { Hono } from 'hono';
import { signedIn } from '../auth/authenticate.ts';
import type { SignIn as Outcome, Sessions } from '../auth/sessions.ts';
import type { Env } from '../env.ts';
import type { Assets } from './assets.ts';
import { document } from './document.ts';
import { counted } from './figures.ts';
import { fieldsOf, ownPath } from './form.ts';
import { SignIn } from './sign-in.tsx';

type Refusal = Extract<Outcome, { readonly signedIn: false }>;

const WHY: Readonly<Record<Refusal['why'], string>> = {
  unknown: 'This token is not accepted. Look for a missing character, or ask for a new one.',
  expired: 'This token has expired. Ask for a new one: `docket tokens create`.',
  throttled: 'Too many tokens were refused from this address.',
  insecure:
    'A token must not travel in clear. Put a proxy with TLS in front, or open the page on this machine as http://localhost.',
  cross_site: 'The form did not come from this page. Load it anew and try again.',
};
const STATUS = { unknown: 401, expired: 401, throttled: 429, insecure: 403, cross_site: 403 } as const;

/** Signing in with a token, and signing out. */
export function addDoor(app: Hono<Env>, { sessions, assets, limit }: DoorPorts): void {
  app.get('/sign-in', async (context) => {
    const to = ownPath(context.req.query('to'));
    if ((await sessions.read(context)) !== undefined) return context.redirect(to, 303);
    const message = context.req.query('did') === 'out' ? { text: 'You are signed out.', grave: false } : undefined;
    return context.html(await document(<SignIn assets={assets} to={to} message={message} />));
  });

  app.post('/sign-in', async (context) => {
    const refused = limit.address(context);
    if (refused !== undefined) return refused;
    const { token = '', to } = await fieldsOf(context);
    const outcome = await sessions.signIn(context, token);
    if (outcome.signedIn) return context.redirect(ownPath(to), 303);
    const { why, retryAfterS } = outcome;
    if (retryAfterS !== undefined) context.header('Retry-After', String(retryAfterS));
    const wait = retryAfterS === undefined ? '' : ` Wait ${counted(retryAfterS, 'second')}.`;
    const message = { text: WHY[why] + wait, grave: true };
    return context.html(await document(<SignIn assets={assets} to={ownPath(to)} message={message} />), STATUS[why]);
  });

  app.post(
    '/sign-out',
    signedIn({ sessions, limit }, (context) => context.redirect('/sign-in', 303)),
    async (context) => {
      await sessions.signOut(context);
      return context.redirect('/sign-in?did=out', 303);
    },
  );
}

interface DoorPorts {
  readonly sessions: Sessions;
  readonly assets: Assets;
  readonly limit: Parameters<typeof signedIn>[0]['limit'];
}
