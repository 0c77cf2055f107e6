import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { ID } from '../../define/words.ts';
import type { OrganizationEntry, ReportDetail, ReportEntry } from '../access.ts';
import type { Admin } from '../env.ts';
import { runSchema, runView } from '../view.ts';
import {
  asking,
  json,
  limitSchema,
  nextLink,
  nextSchema,
  orgSchema,
  orNull,
  PROBLEM,
  pageHeaders,
  reportParams,
  security,
} from './declare.ts';
import { pauseSchema, pauseView } from './pause-view.ts';

const organizationSchema = z
  .object({
    org: z.string().meta({ example: 'acme' }),
    name: z.string(),
    timezone: z.string().nullable().describe('null where its `org.yaml` has had a fault since the start.'),
    reports: z.int(),
    pause: orNull(pauseSchema),
  })
  .meta({ id: 'Organization' });

const reportSchema = z
  .object({
    org: z.string().meta({ example: 'acme' }),
    report: z.string().meta({ example: 'weekly' }),
    title: z.string(),
    schedules: z.array(z.string()).readonly().describe('One line each; empty: on demand only.'),
    pause: orNull(pauseSchema).describe('Its own, or its organization’s.'),
    faults: z
      .array(z.string())
      .readonly()
      .describe('Of its file: it goes on as its last good version says, or not at all where there is none.'),
    last: orNull(runSchema).describe('The newest run, of whatever state.'),
  })
  .meta({ id: 'Report' });

export const slotSchema = z
  .object({
    at: z.iso.datetime().describe('The nominal instant, which names the run and from which its period is counted.'),
    local: z.string().meta({ example: 'Mon 2026-11-23 08:00 UTC+01:00' }),
    timezone: z.string(),
    begins: z.iso.datetime().describe('When its run begins: later where the schedule has a jitter.'),
    schedule: z.string(),
  })
  .meta({ id: 'Slot' });

const detailSchema = reportSchema
  .extend({
    owner: z.string().nullable(),
    timezone: z.string().nullable(),
    text: z.string().nullable().describe('The definition in force, YAML; a text with a fault is not shown.'),
    digest: z.string().nullable(),
    slots: z.array(slotSchema).readonly().describe('The next ones.'),
  })
  .meta({
    id: 'ReportDetail',
    description: 'All but the slots is null of a report of which no version was ever without a fault.',
  });

const organizationView = ({ pause, ...entry }: OrganizationEntry): z.infer<typeof organizationSchema> => ({
  ...entry,
  pause: pause === null ? null : pauseView(pause),
});
const reportView = ({
  org,
  report,
  title,
  schedules,
  pause,
  faults,
  last,
}: ReportEntry): z.infer<typeof reportSchema> => ({
  org,
  report,
  title,
  schedules,
  pause: pause === null ? null : pauseView(pause),
  faults,
  last: last === null ? null : runView(last),
});
const detailView = (detail: ReportDetail): z.infer<typeof detailSchema> => {
  const { owner, timezone, text, digest, slots } = detail;
  return { ...reportView(detail), owner, timezone, text, digest, slots };
};

const organizationsRoute = createRoute({
  method: 'get',
  path: '/api/organizations',
  tags: ['Reports'],
  summary: 'Organizations',
  security,
  responses: {
    200: json(z.object({ organizations: z.array(organizationSchema).readonly() }), 'Those that the token may see.'),
    ...asking,
  },
});

const nameSchema = z
  .string()
  .refine((name) => name.split('/').length === 2 && name.split('/').every((id) => ID.test(id)), 'org/report')
  .meta({ description: '`next` of the page before.', example: 'acme/weekly' });

const listRoute = createRoute({
  method: 'get',
  path: '/api/reports',
  tags: ['Reports'],
  summary: 'Reports as they are defined now',
  security,
  request: {
    query: z.strictObject({ org: orgSchema.optional(), after: nameSchema.optional(), limit: limitSchema(500, 100) }),
  },
  responses: {
    200: {
      ...json(
        z.object({ reports: z.array(reportSchema).readonly(), next: nextSchema }),
        'A page of them, in the order of their names.',
      ),
      headers: pageHeaders,
    },
    ...asking,
    404: PROBLEM[404],
    422: PROBLEM[422],
  },
});

const oneRoute = createRoute({
  method: 'get',
  path: '/api/reports/{org}/{report}',
  tags: ['Reports'],
  summary: 'One report, with its definition and next slots',
  security,
  request: { params: reportParams },
  responses: { 200: json(detailSchema, 'As it is defined now.'), ...asking, 404: PROBLEM[404] },
});

/** Organizations and reports. */
export function addReports(app: Admin): void {
  app.openapi(organizationsRoute, async (context) => {
    const organizations = await context.get('access').organizations();
    return context.json({ organizations: organizations.map(organizationView) }, 200);
  });

  app.openapi(listRoute, async (context) => {
    const { org, after, limit } = context.req.valid('query');
    const { reports, next } = await context.get('access').reports({
      ...(org === undefined ? {} : { org }),
      ...(after === undefined ? {} : { after }),
      limit,
    });
    return context.json({ reports: reports.map(reportView), next }, 200, nextLink(context.req.url, next));
  });

  app.openapi(oneRoute, async (context) => {
    const { org, report } = context.req.valid('param');
    return context.json(detailView(await context.get('access').report(org, report)), 200);
  });
}
