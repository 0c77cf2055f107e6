import { randomUUID } from 'node:crypto';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { RUN_STATES } from '../../run/record.ts';
import type { Access } from '../access.ts';
import type { Env } from '../env.ts';
import { AuditList } from './audit.tsx';
import { Deliveries } from './deliveries.tsx';
import { Delivery } from './delivery.tsx';
import type { Desk } from './desk.ts';
import { document } from './document.ts';
import { loadDeliveries, loadOverview, loadPauses, loadReport, loadReports, loadRun } from './loads.ts';
import { noticeAbout, noticeOf } from './notices.ts';
import { Overview } from './overview.tsx';
import { Pauses } from './pauses.tsx';
import type { Refused } from './reason-form.tsx';
import { Report } from './report.tsx';
import { Reports } from './reports.tsx';
import { Run } from './run.tsx';
import { Runs } from './runs.tsx';
import { Slots } from './slots.tsx';
import { zonesOf } from './zones.ts';

const DAY_MS = 86_400_000;
const PAGE = 50;
const MOST_SLOTS = 200;

const day = z.iso.date().optional().catch(undefined);
const word = z.string().trim().min(1).max(200).optional().catch(undefined);
/** Filters as the address has them. One that cannot be is none: the form shows what counts. */
const runsQuerySchema = z.object({
  org: word,
  report: word,
  state: z.enum(RUN_STATES).optional().catch(undefined),
  since: day,
  until: day,
  after: word,
});
const slotsQuerySchema = z.object({
  org: word,
  days: z.coerce
    .number()
    .pipe(z.union([z.literal(1), z.literal(7), z.literal(31)]))
    .catch(7),
});

/** A page, and what is refused of a form on it. */
export interface Shown {
  readonly refused?: Refused;
  readonly status?: 400 | 403 | 404 | 409 | 422;
}

/** What can be looked at. */
export function addViews(app: Hono<Env>, desk: Desk): void {
  const { now } = desk;
  const show = async (
    context: Context<Env>,
    view: (access: Access, frame: Awaited<ReturnType<Desk['frame']>>) => Promise<unknown>,
  ) => {
    const access = desk.access(context);
    return context.html(await document(await view(access, await desk.frame(context, access))));
  };
  const did = (context: Context<Env>) => noticeOf(context.req.query('did'));

  app.get('/', (context) =>
    show(context, async (access, frame) => (
      <Overview frame={frame} data={await loadOverview(access, now())} notice={did(context)} />
    )),
  );
  app.get('/reports', (context) =>
    show(context, async (access, frame) => (
      <Reports frame={frame} data={await loadReports(access, context.req.query('after'))} />
    )),
  );
  app.get('/reports/:org/:report', (context) => showReport(desk, context));
  app.get('/runs', async (context) => {
    const run = word.parse(context.req.query('run'));
    if (run !== undefined) return context.redirect(`/runs/${encodeURIComponent(run.toLowerCase())}`);
    return show(context, async (access, frame) => {
      const query = runsQuerySchema.parse(context.req.query());
      const { org, report, state, since, until, after } = query;
      const [organizations, page] = await Promise.all([
        access.organizations(),
        access.runs({
          ...(org === undefined ? {} : { org }),
          ...(report === undefined ? {} : { report }),
          ...(state === undefined ? {} : { states: [state] }),
          ...(since === undefined ? {} : { since: Date.parse(since) }),
          ...(until === undefined ? {} : { until: Date.parse(until) + DAY_MS }),
          ...(after === undefined ? {} : { after }),
          limit: PAGE,
        }),
      ]);
      return <Runs frame={frame} data={{ organizations, query, ...page }} />;
    });
  });
  app.get('/runs/:id', (context) => showRun(desk, context));
  app.get('/deliveries', (context) => showDeliveries(desk, context));
  app.get('/deliveries/:id', (context) => showDelivery(desk, context));
  app.get('/slots', (context) =>
    show(context, async (access, frame) => {
      const { org, days } = slotsQuerySchema.parse(context.req.query());
      const from = now();
      const [organizations, slots] = await Promise.all([
        access.organizations(),
        access.slots({ ...(org === undefined ? {} : { org }), from, until: from + days * DAY_MS, limit: MOST_SLOTS }),
      ]);
      return <Slots frame={frame} data={{ organizations, slots, org, days }} />;
    }),
  );
  app.get('/pauses', (context) => showPauses(desk, context));
  app.get('/audit', (context) =>
    show(context, async (access, frame) => {
      const after = word.parse(context.req.query('after'));
      const [organizations, page] = await Promise.all([access.organizations(), access.audit({ after, limit: PAGE })]);
      return <AuditList frame={frame} data={{ page, organizations, after }} />;
    }),
  );
}

/** A report's page; also the answer to a form on it that was refused. */
export async function showReport(desk: Desk, context: Context<Env>, { refused, status = 422 }: Shown = {}) {
  const access = desk.access(context);
  const { org = '', report = '' } = context.req.param() as Record<string, string>;
  const [frame, loaded] = await Promise.all([desk.frame(context, access), loadReport(access, org, report)]);
  const data = { ...loaded, trigger: randomUUID(), refused };
  const html = await document(<Report frame={frame} data={data} notice={noticeOf(context.req.query('did'))} />);
  return context.html(html, refused === undefined ? 200 : status);
}

export async function showRun(desk: Desk, context: Context<Env>, { refused, status = 422 }: Shown = {}) {
  const access = desk.access(context);
  const loaded = await loadRun(access, context.req.param('id') ?? '');
  const { id } = loaded.news.record;
  if (isShort(context, id)) return context.redirect(`/runs/${id}${new URL(context.req.url).search}`);
  const frame = await desk.frame(context, access);
  const notice = noticeOf(context.req.query('did'));
  return context.html(
    await document(<Run frame={frame} data={{ ...loaded, refused }} notice={notice} />),
    refused === undefined ? 200 : status,
  );
}

export async function showDeliveries(desk: Desk, context: Context<Env>, { refused, status = 422 }: Shown = {}) {
  const access = desk.access(context);
  const [frame, loaded] = await Promise.all([desk.frame(context, access), loadDeliveries(access)]);
  const notice = await noticeAbout(access, context.req.query('did'), context.req.query('delivery'));
  return context.html(
    await document(<Deliveries frame={frame} data={{ ...loaded, refused }} notice={notice} />),
    refused === undefined ? 200 : status,
  );
}

export async function showDelivery(desk: Desk, context: Context<Env>, { refused, status = 422 }: Shown = {}) {
  const access = desk.access(context);
  const row = await access.delivery(context.req.param('id') ?? '');
  if (isShort(context, row.id)) return context.redirect(`/deliveries/${row.id}${new URL(context.req.url).search}`);
  const [frame, organizations] = await Promise.all([desk.frame(context, access), access.organizations()]);
  const data = { row, zone: zonesOf(organizations).of(row.org), refused };
  const html = await document(<Delivery frame={frame} data={data} notice={noticeOf(context.req.query('did'), row)} />);
  return context.html(html, refused === undefined ? 200 : status);
}

/** Whether somebody has come by the first digits of an id: the address then gets all of it. */
const isShort = ({ req }: Context<Env>, id: string): boolean => req.method === 'GET' && req.param('id') !== id;

export async function showPauses(desk: Desk, context: Context<Env>, { refused, status = 422 }: Shown = {}) {
  const access = desk.access(context);
  const [frame, loaded] = await Promise.all([desk.frame(context, access), loadPauses(access)]);
  const notice = noticeOf(context.req.query('did'));
  return context.html(
    await document(<Pauses frame={frame} data={{ ...loaded, refused }} notice={notice} />),
    refused === undefined ? 200 : status,
  );
}
