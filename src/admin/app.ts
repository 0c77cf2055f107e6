import { OpenAPIHono } from '@hono/zod-openapi';
import { HTTPException } from 'hono/http-exception';
import { methodNotAllowed } from 'hono/method-not-allowed';
import type { Clock } from '../base/clock.ts';
import { toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { Access } from './access.ts';
import { addAudit } from './api/audit.ts';
import { addBudgets } from './api/budgets.ts';
import { addDefinitions } from './api/definitions.ts';
import { addDeliveries } from './api/deliveries.ts';
import { addDocument } from './api/document.ts';
import { addEvents } from './api/events.ts';
import { addFiles } from './api/files.ts';
import { addPauses } from './api/pauses.ts';
import { addHealth, addMetrics } from './api/probes.ts';
import { addReports } from './api/reports.ts';
import { addRuns } from './api/runs.ts';
import { addSchedules } from './api/schedules.ts';
import { addTrigger } from './api/trigger.ts';
import { authenticated } from './auth/authenticate.ts';
import { knowClient, limitForms } from './auth/client.ts';
import type { Door, PageDoor } from './auth/door.ts';
import { securityHeaders } from './auth/headers.ts';
import type { Principal } from './auth/tokens.ts';
import type { Board } from './board.ts';
import { type Admin, type Env, notFound } from './env.ts';
import type { EventStreams } from './event-streams.ts';
import type { Exposition } from './metrics.ts';
import { addPage } from './page/app.tsx';
import { problem, problemOf } from './problem.ts';
import { refuseInvalid, wholeBody } from './request.ts';

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
  /** What somebody may see and do; asks nothing yet. */
  readonly access: (principal: Principal) => Access;
  readonly streams: EventStreams;
  /** Bull Board, where somebody wants it. */
  readonly board?: Board | undefined;
  /** Of Docket, for the document. */
  readonly version: string;
}

export type { Admin } from './env.ts';

/** The admin route as a function of requests; `server.ts` listens. Every error is a problem (RFC 9457). */
export const createAdmin = (ports: AdminPorts): Admin =>
  createProbes(ports, {
    open: (app) => {
      addDocument(app, ports.version);
      addPage(app, { ...ports.door, access: ports.access, clock: ports.clock, board: ports.board });
    },
    api: (app) => {
      app.use('/api/*', wholeBody, async (context, next) => {
        context.set('access', ports.access(context.get('principal')));
        await next();
      });
      addReports(app);
      addTrigger(app);
      addRuns(app);
      addEvents(app, ports);
      addFiles(app, ports);
      addDeliveries(app);
      addPauses(app);
      addSchedules(app);
      addDefinitions(app);
      addBudgets(app, ports.clock.now);
      addAudit(app);
    },
  });

/** What a process has beside the probes. */
export interface Parts {
  /** Before anybody is asked for a token. */
  readonly open?: (app: Admin) => void;
  readonly api?: (app: Admin) => void;
}

/** `/healthz`, `/readyz` and `/metrics`, and whatever the parts add. */
export function createProbes(ports: ProbePorts, { open, api }: Parts = {}): Admin {
  const { log } = ports;
  const app: Admin = new OpenAPIHono<Env>({ defaultHook: refuseInvalid });

  app.use(securityHeaders());
  app.use(knowClient(ports.door), limitForms());
  addHealth(app, ports);
  open?.(app);
  app.use(authenticated(ports.door));
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (_, methods) =>
        problem('request.method_not_allowed', { expected: methods.join(', ') }, { Allow: methods.join(', ') }),
    }),
  );

  api?.(app);

  addMetrics(app, ports);

  app.notFound(notFound);
  app.onError((thrown, context) => {
    if (thrown instanceof HTTPException) {
      return thrown.status === 413
        ? problem('request.too_large')
        : problem('request.malformed', { detail: 'The body is not JSON.' });
    }
    // Whoever goes away before the body is there gets no answer, and is nobody's defect.
    if (context.req.raw.signal.aborted) return problem('request.malformed');
    const error = toDocketError(thrown);
    if (error.code === 'request.not_found') return notFound(context);
    const response = problemOf(error);
    if (response.status >= 500) log.error('A request failed', { path: context.req.path, error: error.toJSON() });
    return response;
  });
  return app;
}
