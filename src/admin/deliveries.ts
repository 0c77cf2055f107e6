import type { Context } from 'hono';
import type { DeliveryRow } from '../queue/decisions.ts';
import type { AdminPorts } from './app.ts';
import { maySee } from './auth/tokens.ts';
import { type Admin, type Env, notFound, notOperator } from './env.ts';
import { problem } from './problem.ts';
import { deliveriesQuerySchema, faults, readBody, reasonBodySchema, resolveBodySchema } from './request.ts';
import { deliveryView, runView } from './view.ts';

/**
 * Deliveries and what may be decided of them. Each decision needs the role operator and a reason, and is kept with the
 * token's name; the log has a line of it.
 */
export function addDeliveries(app: Admin, { decisions, runs }: Pick<AdminPorts, 'decisions' | 'runs'>): void {
  app.get('/api/deliveries', async (context) => {
    const query = deliveriesQuerySchema.safeParse(context.req.query());
    if (!query.success) return problem('request.invalid', { errors: faults(query.error) });
    const { org, report, run, state, limit } = query.data;
    const principal = context.get('principal');
    if (org !== undefined && !maySee(principal, org)) return notFound(context);
    const rows = await decisions.list({
      orgs: org === undefined ? principal.orgs : [org],
      ...(report === undefined ? {} : { report }),
      ...(run === undefined ? {} : { run }),
      ...(state === undefined ? {} : { state }),
      limit,
    });
    return context.json({ deliveries: rows.map(deliveryView) });
  });

  app.get('/api/deliveries/:id', async (context) => {
    const row = await visible(context);
    return row === undefined ? notFound(context) : context.json(deliveryView(row));
  });

  app.post('/api/deliveries/:id/resolve', async (context) => {
    const row = await visible(context);
    if (row === undefined) return notFound(context);
    const refusal = notOperator(context.get('principal'));
    if (refusal !== undefined) return refusal;
    const body = await readBody(context.req.raw, resolveBodySchema);
    if (body instanceof Response) return body;
    const who = { by: context.get('principal').name, reason: body.reason };
    return context.json(deliveryView(await decisions.resolve(row.id, body.as, who)));
  });

  for (const what of ['retry', 'release', 'cancel'] as const) {
    app.post(`/api/runs/:id/${what}`, async (context) => {
      const { id } = context.req.param();
      const principal = context.get('principal');
      const record = /^[0-9a-f]{32}$/.test(id) ? await runs.get(id) : undefined;
      if (record === undefined || !maySee(principal, record.org)) return notFound(context);
      const refusal = notOperator(principal);
      if (refusal !== undefined) return refusal;
      const body = await readBody(context.req.raw, reasonBodySchema);
      if (body instanceof Response) return body;
      const decided = await decisions[what](id, { by: principal.name, reason: body.reason });
      return context.json(runView(decided), 202, { Location: `/api/runs/${id}` });
    });
  }

  async function visible(context: Context<Env>): Promise<DeliveryRow | undefined> {
    const id = context.req.param('id') ?? '';
    const row = /^[0-9a-f]{32}$/.test(id) ? await decisions.find(id) : undefined;
    return row !== undefined && maySee(context.get('principal'), row.org) ? row : undefined;
  }
}
