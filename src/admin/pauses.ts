import type { Context } from 'hono';
import type { Pause, Paused } from '../queue/pauses.ts';
import type { AdminPorts } from './app.ts';
import { maySee } from './auth/tokens.ts';
import { type Admin, type Env, notFound, notOperator } from './env.ts';
import { readBody, reasonBodySchema } from './request.ts';

/**
 * What is paused, and pausing it: an organization's scheduled runs or one report's. Each decision needs the role operator
 * and a reason, and is kept with the token's name; the log has a line of it.
 */
export function addPauses(
  app: Admin,
  {
    pauses,
    reports,
    organization,
    clock,
    log,
  }: Pick<AdminPorts, 'pauses' | 'reports' | 'organization' | 'clock' | 'log'>,
): void {
  app.get('/api/pauses', async (context) => {
    const principal = context.get('principal');
    const visible = (await pauses.list()).filter(({ org }) => maySee(principal, org));
    return context.json({ pauses: visible.map(pauseView) });
  });

  const pause = async (context: Context<Env>, of: Paused): Promise<Response> => {
    const known = of.report === null ? organization(of.org) : (await reports(of.org, of.report)) !== undefined;
    if (!known) return notFound(context);
    const decider = await deciderOf(context, of);
    if (decider instanceof Response) return decider;
    const { by: who, reason: why } = decider;
    const stands = await pauses.put({ ...of, who, why, since: clock.now(), key: null, run: null });
    log.info('Scheduled runs paused', { ...named(of), who, why, state: stands.why === why ? 'paused' : 'repeated' });
    return context.json(pauseView(stands));
  };
  const resume = async (context: Context<Env>, of: Paused): Promise<Response> => {
    const decider = await deciderOf(context, of);
    if (decider instanceof Response) return decider;
    const { by: who, reason: why } = decider;
    // Of something that is gone as well: its pause may still be there.
    const lifted = await pauses.lift(of, who, why);
    log.info('Scheduled runs resumed', { ...named(of), who, why, count: lifted.length });
    return context.json({ lifted: lifted.map(pauseView) });
  };
  for (const [what, act] of [
    ['pause', pause],
    ['resume', resume],
  ] as const) {
    app.post(`/api/organizations/:org/${what}`, (context) =>
      act(context, { org: context.req.param('org'), report: null }),
    );
    app.post(`/api/reports/:org/:report/${what}`, (context) => act(context, context.req.param()));
  }
}

/** Who decides of this, and why; or the refusal. */
async function deciderOf(context: Context<Env>, { org }: Paused) {
  const principal = context.get('principal');
  // Another organization's reports are not there, whether they exist or not.
  if (!maySee(principal, org)) return notFound(context);
  const refusal = notOperator(principal);
  if (refusal !== undefined) return refusal;
  const body = await readBody(context.req.raw, reasonBodySchema);
  return body instanceof Response ? body : { by: principal.name, reason: body.reason };
}

const named = ({ org, report }: Paused) => (report === null ? { org } : { org, report });

const pauseView = ({ org, report, who, why, since, key, run }: Pause) => ({
  organization: org,
  report,
  who,
  why,
  since: new Date(since).toISOString(),
  key,
  run,
});
