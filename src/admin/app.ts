import { createHash, randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { methodNotAllowed } from 'hono/method-not-allowed';
import type { Clock } from '../base/clock.ts';
import { toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { Definition } from '../define/definition.ts';
import type { OrgSettings } from '../define/org.ts';
import type { Decisions } from '../queue/decisions.ts';
import type { Pauses } from '../queue/pauses.ts';
import type { Trigger } from '../queue/trigger.ts';
import type { RunRecord, RunStore } from '../run/record.ts';
import { authenticated } from './auth/authenticate.ts';
import { knowClient } from './auth/client.ts';
import type { Door, PageDoor } from './auth/door.ts';
import { securityHeaders } from './auth/headers.ts';
import { maySee, type Principal } from './auth/tokens.ts';
import { addDeliveries } from './deliveries.ts';
import { type Admin, type Env, notFound, notOperator } from './env.ts';
import type { Exposition } from './metrics.ts';
import { addPauses } from './pauses.ts';
import { problem, problemOf } from './problem.ts';
import { faults, idempotencyKeySchema, listQuerySchema, readBody, triggerBodySchema } from './request.ts';
import { runView } from './view.ts';

/** One thing that must work for the route to be of use. `detail` is shown to anybody. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail?: string;
}

/** What every process answers from, whatever its roles. */
export interface ProbePorts {
  readonly door: Door;
  /** What `/readyz` asks; never rejects, and answers soon. */
  readonly health: () => Promise<readonly Check[]>;
  readonly metrics: () => Promise<Exposition>;
  readonly clock: Clock;
  readonly log: Log;
}

/** What the admin route asks of the rest. */
export interface AdminPorts extends ProbePorts {
  readonly door: PageDoor;
  readonly trigger: Trigger;
  readonly runs: Pick<RunStore, 'get' | 'list'>;
  readonly decisions: Decisions;
  /** The report as it is defined now – by its last good version while its file has a fault –, or undefined. */
  readonly reports: (
    org: string,
    report: string,
  ) => Promise<{ readonly definition: Definition; readonly settings: OrgSettings } | undefined>;
  /** Whether there is such an organization. */
  readonly organization: (org: string) => boolean;
  readonly pauses: Pauses;
}

export type { Admin } from './env.ts';

/** The admin route as a function of requests; `server.ts` listens. Every error is a problem (RFC 9457). */
export const createAdmin = (ports: AdminPorts): Admin =>
  createProbes(ports, (app) => {
    addRuns(app, ports);
    addDeliveries(app, ports);
    addPauses(app, ports);
  });

/** `/healthz`, `/readyz` and `/metrics`, and behind the tokens whatever `addApi` adds. */
export function createProbes(ports: ProbePorts, addApi: (app: Admin) => void = () => {}): Admin {
  const { log } = ports;
  const app: Admin = new Hono<Env>();

  app.use(securityHeaders());
  app.use(knowClient(ports.door));
  app.get('/healthz', (context) => context.json({ status: 'ok' }));
  app.get('/readyz', async (context) => {
    const checks = await ports.health();
    const ready = checks.every((check) => check.ok);
    return context.json({ status: ready ? 'ready' : 'not ready', checks }, ready ? 200 : 503);
  });
  app.use(authenticated(ports.door));
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (_, methods) =>
        problem('request.method_not_allowed', { expected: methods.join(', ') }, { Allow: methods.join(', ') }),
    }),
  );

  addApi(app);

  app.get('/metrics', async (context) => {
    const { orgs } = context.get('principal');
    // They name every organization and the state of its key.
    if (orgs !== '*') {
      return problem('auth.forbidden', {
        expected: 'a token for all organizations (`docket tokens create` without --org)',
        got: `one for ${orgs.join(', ')}`,
      });
    }
    const { type, body } = await ports.metrics();
    return context.body(body, 200, { 'Content-Type': type });
  });

  app.notFound(notFound);
  app.onError((thrown, context) => {
    if (thrown instanceof HTTPException)
      return problem(thrown.status === 413 ? 'request.too_large' : 'request.malformed');
    const error = toDocketError(thrown);
    const response = problemOf(error);
    if (response.status >= 500) log.error('A request failed', { path: context.req.path, error: error.toJSON() });
    return response;
  });
  return app;
}

function addRuns(app: Admin, { trigger, runs, reports, log }: AdminPorts): void {
  app.post('/api/reports/:org/:report/runs', async (context) => {
    const principal = context.get('principal');
    const { org, report } = context.req.param();
    // Another organization's reports are not there, whether they exist or not.
    const found = maySee(principal, org) ? await reports(org, report) : undefined;
    if (found === undefined) return notFound(context);
    const refusal = notOperator(principal);
    if (refusal !== undefined) return refusal;
    const header = context.req.header('idempotency-key');
    const key = idempotencyKeySchema.optional().safeParse(header);
    if (!key.success) return problem('request.malformed', { detail: key.error.issues[0]?.message ?? '' });
    const body = await readBody(context.req.raw, triggerBodySchema);
    if (body instanceof Response) return body;
    const { opened, record } = await trigger({
      ...found,
      slot: { trigger: key.data === undefined ? randomUUID() : keyOf(principal, key.data) },
      trigger: 'on_demand',
      priority: 'on_demand',
      ...(body.period === undefined ? {} : { period: body.period }),
      deliver: body.deliver,
      by: principal.name,
    });
    log.info('Run triggered', {
      run: record.id,
      org,
      report,
      who: principal.name,
      state: opened ? 'opened' : 'repeated',
    });
    return context.json(runView(record), 202, { Location: `/api/runs/${record.id}` });
  });

  app.get('/api/runs/:id', async (context) => {
    const { id } = context.req.param();
    const record = /^[0-9a-f]{32}$/.test(id) ? await runs.get(id) : undefined;
    if (record === undefined || !maySee(context.get('principal'), record.org)) return notFound(context);
    return context.json(runView(record));
  });

  app.get('/api/runs', async (context) => {
    const query = listQuerySchema.safeParse(context.req.query());
    if (!query.success) return problem('request.invalid', { errors: faults(query.error) });
    const principal = context.get('principal');
    const { org, report, limit } = query.data;
    if (org !== undefined && !maySee(principal, org)) return notFound(context);
    const filter = { ...(report === undefined ? {} : { report }), limit };
    const found = await listFor(runs, org === undefined ? principal.orgs : [org], filter);
    return context.json({ runs: found.map(runView) });
  });
}

/** A key is its sender's own: two clients that both count from 1 do not meet. */
const keyOf = ({ name }: Principal, key: string): string =>
  createHash('sha256')
    .update(JSON.stringify([name, key]))
    .digest('hex')
    .slice(0, 32);

async function listFor(
  runs: Pick<RunStore, 'list'>,
  orgs: readonly string[] | '*',
  filter: { readonly report?: string; readonly limit: number },
): Promise<readonly RunRecord[]> {
  if (orgs === '*') return runs.list(filter);
  const each = await Promise.all(orgs.map((org) => runs.list({ ...filter, org })));
  return each
    .flat()
    .sort((a, b) => b.createdAt - a.createdAt)
    .slice(0, filter.limit);
}
