import type { Context, Hono } from 'hono';
import { DateTime } from 'luxon';
import { z } from 'zod';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../base/time.ts';
import { RUN_STATES } from '../../../run/run-record.ts';
import { DELIVERY_STATES, type DeliveryRow } from '../../../services/deliveries/decisions.ts';
import type { Access } from '../../access/access.ts';
import type { Env } from '../../hono-env.ts';
import { isFiltered } from '../components/filter-fields.tsx';
import type { ZoneSubject } from '../components/header/zone-choice.tsx';
import type { LayoutData } from '../components/layout.tsx';
import { runZone } from '../components/run-table.tsx';
import { collectZones } from '../components/time.tsx';
import type { RejectedForm } from '../forms/reason-form.tsx';
import { AuditList } from '../views/audit-log.tsx';
import { CorrectionPage } from '../views/corrections/correction.tsx';
import { Corrections } from '../views/corrections/corrections.tsx';
import { Deliveries, Delivery, Denied, ReceivedDeliveries } from '../views/deliveries.tsx';
import { FORECAST_WINDOWS, ForecastPage } from '../views/forecast.tsx';
import { Overview } from '../views/overview.tsx';
import { Pauses } from '../views/pauses.tsx';
import { Processes } from '../views/processes.tsx';
import { Report } from '../views/report/report.tsx';
import { REPORT_FILTERS, Reports } from '../views/reports.tsx';
import { Run } from '../views/run.tsx';
import { Runs } from '../views/runs.tsx';
import { SelectionPage } from '../views/selection.tsx';
import { MAX_SKIPPED, MAX_SLOTS, SKIPPED_DAYS, Slots } from '../views/slots.tsx';
import {
  loadDeliveries,
  loadDenied,
  loadOverview,
  loadPauses,
  loadReceived,
  loadReport,
  loadReports,
  loadRun,
  rejectedFilter,
} from './loaders.ts';
import { actionNotice, deliveryNotice, runNotice } from './notices.ts';
import { type PageContext, renderDocument } from './page-context.ts';
import { numbersInComments } from './review-actions.ts';

const PAGE_SIZE = 50;

const dayParameter = z.iso.date().optional().catch(undefined);
const textParameter = z.string().trim().min(1).max(200).optional().catch(undefined);
/** The filters in the address. Invalid ones are ignored; the form shows those in use. */
const runsQuerySchema = z.object({
  org: textParameter,
  report: textParameter,
  match: textParameter,
  to: textParameter,
  period: textParameter,
  error: textParameter,
  state: z.enum(RUN_STATES).optional().catch(undefined),
  since: dayParameter,
  until: dayParameter,
  after: textParameter,
});
const reportsQuerySchema = z.object({
  org: textParameter,
  match: textParameter,
  state: z.enum(REPORT_FILTERS).optional().catch(undefined),
  after: textParameter,
});
const deliveriesQuerySchema = z.object({
  org: textParameter,
  match: textParameter,
  to: textParameter,
  period: textParameter,
  state: z.enum(DELIVERY_STATES).optional().catch(undefined),
  after: textParameter,
});
const slotsQuerySchema = z.object({
  org: textParameter,
  days: z.coerce
    .number()
    .pipe(z.union([z.literal(1), z.literal(7), z.literal(31)]))
    .catch(7),
});

const forecastQuerySchema = z.object({ org: textParameter, window: z.enum(['day', 'week', 'past']).catch('day') });

/** Options to show a page again with a rejected form on it. */
export interface ViewOptions {
  readonly refused?: RejectedForm;
  readonly status?: 400 | 403 | 404 | 409 | 422;
}

/** Adds the pages that can be viewed. */
export function addViews(app: Hono<Env>, page: PageContext): void {
  const { now } = page;
  const show = async (
    context: Context<Env>,
    view: (access: Access, layout: LayoutData) => Promise<unknown>,
    subject?: ZoneSubject,
  ) => {
    const access = page.access(context);
    return context.html(await renderDocument(await view(access, await page.layout(context, access, subject))));
  };
  const filteredOrg = (context: Context<Env>): ZoneSubject => ({ org: textParameter.parse(context.req.query('org')) });

  app.get('/', (context) => showOverview(page, context));
  app.get('/reports', (context) =>
    show(context, async (access, layout) => (
      <Reports layout={layout} data={await loadReports(access, reportsQuerySchema.parse(context.req.query()))} />
    )),
  );
  app.get('/reports/:org/:report', (context) => showReport(page, context));
  app.get('/runs', async (context) => {
    const run = textParameter.parse(context.req.query('run'));
    if (run !== undefined) return context.redirect(`/runs/${encodeURIComponent(run.toLowerCase())}`);
    return showRuns(page, context);
  });
  app.get('/runs/:id', (context) => showRun(page, context));
  app.get('/deliveries', (context) => showDeliveries(page, context));
  app.get('/deliveries/:id', (context) => showDelivery(page, context));
  app.get('/corrections', (context) =>
    show(context, async (access, layout) => {
      const [corrections, organizations] = await Promise.all([access.corrections(), access.organizations()]);
      return (
        <Corrections
          layout={layout}
          data={{ corrections, zones: collectZones(organizations) }}
          notice={actionNotice(context.req.query('did'))}
        />
      );
    }),
  );
  app.get('/corrections/:id', (context) => showCorrection(page, context));
  app.get('/selections/:digest', (context) => showSelection(page, context));
  app.get('/slots', (context) =>
    show(
      context,
      async (access, layout) => {
        const { org, days } = slotsQuerySchema.parse(context.req.query());
        const from = now();
        const [organizations, slots, pauses, skipped] = await Promise.all([
          access.organizations(),
          access.slots({ org, from, until: from + days * DAY_MS, limit: MAX_SLOTS }),
          access.pauses(),
          access.runs({ org, states: ['skipped'], since: from - SKIPPED_DAYS * DAY_MS, limit: MAX_SKIPPED }),
        ]);
        return <Slots layout={layout} data={{ organizations, slots, pauses, skipped: skipped.runs, org, days }} />;
      },
      filteredOrg(context),
    ),
  );
  app.get('/forecast', (context) =>
    show(
      context,
      async (access, layout) => {
        const { org, window } = forecastQuerySchema.parse(context.req.query());
        const { before, after } = FORECAST_WINDOWS[window];
        const minute = Math.floor(now() / MINUTE_MS) * MINUTE_MS;
        const [organizations, forecast] = await Promise.all([
          access.organizations(),
          access.forecast({ from: minute - before * HOUR_MS, to: minute + after * HOUR_MS }, org),
        ]);
        return <ForecastPage layout={layout} data={{ organizations, forecast, org, window }} />;
      },
      filteredOrg(context),
    ),
  );
  app.get('/pauses', (context) => showPauses(page, context));
  app.get('/denied', (context) => showDenied(page, context));
  app.get('/processes', (context) =>
    show(context, async (access, layout) => <Processes layout={layout} data={await access.processes()} />),
  );
  app.get('/audit', (context) =>
    show(context, async (access, layout) => {
      const after = textParameter.parse(context.req.query('after'));
      const [organizations, entries] = await Promise.all([
        access.organizations(),
        access.audit({ after, limit: PAGE_SIZE }),
      ]);
      return <AuditList layout={layout} data={{ page: entries, organizations, after }} />;
    }),
  );
}

/** Epoch ms. @param days days later; not a fixed number of ms, because daylight saving changes the length of a day */
const startOfDay = (day: string, zone: string, days = 0): number =>
  DateTime.fromISO(day, { zone }).plus({ days }).startOf('day').toMillis();

/** A page that can show the rejection of one of its forms. */
export type ShowView = (page: PageContext, context: Context<Env>, options?: ViewOptions) => Promise<Response>;

/** Responds with the page. If one of its forms was rejected, uses `status`. */
const respond = async (context: Context<Env>, element: unknown, { refused, status = 422 }: ViewOptions) =>
  context.html(await renderDocument(element), refused === undefined ? 200 : status);

const buildNotice = (context: Context<Env>, row?: DeliveryRow) => actionNotice(context.req.query('did'), row);

export const showReport: ShowView = async (page, context, options = {}) => {
  const access = page.access(context);
  const { org = '', report = '' } = context.req.param() as Record<string, string>;
  const loaded = await loadReport(access, org, report);
  const layout = await page.layout(context, access, { org, zone: loaded.report.timezone });
  const data = { ...loaded, refused: options.refused };
  return respond(context, <Report layout={layout} data={data} notice={buildNotice(context)} />, options);
};

export const showRuns: ShowView = async (page, context, options = {}) => {
  const access = page.access(context);
  // A rejected form repeats the filters of the list.
  const query = runsQuerySchema.parse(options.refused?.values ?? context.req.query());
  const layout = await page.layout(context, access, { org: query.org });
  const { state, since, until, ...filter } = query;
  const created = {
    since: since === undefined ? undefined : startOfDay(since, layout.zone.name),
    until: until === undefined ? undefined : startOfDay(until, layout.zone.name, 1),
  };
  const states = state === undefined ? undefined : [state];
  const [organizations, counts, found] = await Promise.all([
    access.organizations(),
    access.runCounts({ ...filter, ...created }),
    rejectedFilter(access.runs({ ...filter, ...created, states, limit: PAGE_SIZE }), { runs: [], next: null }),
  ]);
  const data = { organizations, counts, query, created, refused: options.refused, ...found };
  return respond(context, <Runs layout={layout} data={data} />, options);
};

export const showRun: ShowView = async (page, context, options = {}) => {
  const access = page.access(context);
  const loaded = await loadRun(access, context.req.param('id') ?? '');
  const { id } = loaded.snapshot.record;
  if (isShortId(context, id)) return context.redirect(`/runs/${id}${new URL(context.req.url).search}`);
  const layout = await page.layout(context, access, { zone: runZone(loaded.snapshot.record) });
  const { review } = loaded;
  const comments = review !== null && 'view' in review ? review.view.state.comments : [];
  const data = {
    ...loaded,
    refused: options.refused,
    draft: textParameter.parse(context.req.query('draft')),
    pack: textParameter.parse(context.req.query('pack')),
  };
  const doubts = numbersInComments(context.req.queries('doubt') ?? [], comments);
  const notice = runNotice(context.req.query('did'), loaded.snapshot.record, {
    doubts,
    line: context.req.query('line'),
  });
  return respond(context, <Run layout={layout} data={data} notice={notice} />, options);
};

export const showDeliveries: ShowView = async (page, context, options = {}) => {
  const access = page.access(context);
  const query = deliveriesQuerySchema.parse(context.req.query());
  if (isFiltered(query)) {
    const [layout, data] = await Promise.all([
      page.layout(context, access, { org: query.org }),
      loadReceived(access, query),
    ]);
    return respond(context, <ReceivedDeliveries layout={layout} data={data} />, options);
  }
  const [layout, loaded] = await Promise.all([page.layout(context, access), loadDeliveries(access)]);
  const notice = await deliveryNotice(access, context.req.query('did'), context.req.query('delivery'));
  const data = { ...loaded, refused: options.refused };
  return respond(context, <Deliveries layout={layout} data={data} notice={notice} />, options);
};

export const showDelivery: ShowView = async (page, context, options = {}) => {
  const access = page.access(context);
  const row = await access.delivery(context.req.param('id') ?? '');
  if (isShortId(context, row.id)) return context.redirect(`/deliveries/${row.id}${new URL(context.req.url).search}`);
  const [layout, organizations] = await Promise.all([
    page.layout(context, access, { org: row.org }),
    access.organizations(),
  ]);
  const data = { row, zone: collectZones(organizations).of(row.org), refused: options.refused };
  return respond(context, <Delivery layout={layout} data={data} notice={buildNotice(context, row)} />, options);
};

export const showCorrection: ShowView = async (page, context, options = {}) => {
  const access = page.access(context);
  const view = await access.correction(context.req.param('id') ?? '');
  if (isShortId(context, view.id)) return context.redirect(`/corrections/${view.id}`);
  const layout = await page.layout(context, access, { org: view.run.org, zone: view.period.timezone });
  const data = { view, refused: options.refused };
  return respond(context, <CorrectionPage layout={layout} data={data} notice={buildNotice(context)} />, options);
};

export const showSelection: ShowView = async (page, context, options = {}) => {
  const access = page.access(context);
  const selection = await access.selection(context.req.param('digest') ?? '');
  const layout = await page.layout(context, access);
  return respond(context, <SelectionPage layout={layout} data={{ selection, refused: options.refused }} />, options);
};

/** Whether the address has a short id. It then redirects to the full one. */
const isShortId = ({ req }: Context<Env>, id: string): boolean => req.method === 'GET' && req.param('id') !== id;

export const showOverview: ShowView = async (page, context, options = {}) => {
  const access = page.access(context);
  const [layout, loaded] = await Promise.all([page.layout(context, access), loadOverview(access, page.now())]);
  const data = { ...loaded, refused: options.refused };
  return respond(context, <Overview layout={layout} data={data} notice={buildNotice(context)} />, options);
};

export const showDenied: ShowView = async (page, context, options = {}) => {
  const access = page.access(context);
  const [layout, loaded] = await Promise.all([page.layout(context, access), loadDenied(access)]);
  const data = { ...loaded, refused: options.refused };
  return respond(context, <Denied layout={layout} data={data} notice={buildNotice(context)} />, options);
};

export const showPauses: ShowView = async (page, context, options = {}) => {
  const access = page.access(context);
  const [layout, loaded] = await Promise.all([page.layout(context, access), loadPauses(access)]);
  const data = { ...loaded, refused: options.refused };
  return respond(context, <Pauses layout={layout} data={data} notice={buildNotice(context)} />, options);
};
