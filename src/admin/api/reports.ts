import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { INSTANT_FORMS } from '../../definitions/periods/instant.ts';
import { slotSchema } from '../../definitions/schedules/slot-view.ts';
import { templateViewSchema } from '../../definitions/schema/template-view.ts';
import { ID_PATTERN } from '../../definitions/schema/values/primitives.ts';
import { reportOutlineSchema } from '../../services/definitions/report-outline.ts';
import { type OrganizationEntry, type ReportDetail, type ReportEntry, scheduledSchema } from '../access/reports.ts';
import type { AdminApp } from '../hono-env.ts';
import {
  filterProblems,
  instantText,
  jsonResponse,
  limitSchema,
  nextLink,
  orgSchema,
  orNull,
  PROBLEM_RESPONSES,
  pageResponse,
  parseQueryInstant,
  queryProblems,
  reportSchema as reportIdSchema,
  reportParams,
  security,
} from './openapi-helpers.ts';
import { pauseSchema, pauseView, runSchema, runView } from './schemas.ts';

const organizationSchema = z
  .object({
    org: z.string().meta({ example: 'acme' }),
    name: z.string(),
    timezone: z.string().nullable().describe('null if its `org.yaml` has been invalid since the process started.'),
    reports: z.int(),
    pause: orNull(pauseSchema),
  })
  .meta({ id: 'Organization' });

const reportSchema = z
  .object({
    org: z.string().meta({ example: 'acme' }),
    report: z.string().meta({ example: 'weekly' }),
    title: z.string(),
    schedules: z.array(z.string()).readonly().describe('One line for each schedule; empty: on demand only.'),
    schedule_words: z
      .array(z.string())
      .readonly()
      .describe('The same in words.')
      .meta({ example: ['at 08:00, only on Monday'] }),
    pause: orNull(pauseSchema).describe('That of the report, or of its organization.'),
    faults: z
      .array(z.string())
      .readonly()
      .describe('Errors in its file. The report uses its last valid version, if there is one.'),
    last: orNull(runSchema).describe('The newest run in any state.'),
  })
  .meta({ id: 'Report' });

const detailSchema = reportSchema
  .extend({
    owner: z.string().nullable(),
    timezone: z.string().nullable(),
    text: z.string().nullable().describe('The active definition as YAML. An invalid text is not shown.'),
    digest: z.string().nullable(),
    slots: z.array(slotSchema).readonly().describe('The next slots.'),
    outline: orNull(reportOutlineSchema).describe('Who gets what, when and in which form, without YAML.'),
    workbook: orNull(templateViewSchema).describe('How its workbook template is filled; null also without a template.'),
  })
  .meta({
    id: 'ReportDetail',
    description: 'If no version of the report was ever valid, all fields except the slots are null.',
  });

const organizationView = ({ pause, ...entry }: OrganizationEntry): z.infer<typeof organizationSchema> => ({
  ...entry,
  pause: pause === null ? null : pauseView(pause),
});
const reportView = ({ scheduleWords, ...entry }: ReportEntry): z.infer<typeof reportSchema> => ({
  ...entry,
  schedule_words: scheduleWords,
  pause: entry.pause === null ? null : pauseView(entry.pause),
  last: entry.last === null ? null : runView(entry.last),
});
const detailView = ({ owner, timezone, text, digest, slots, outline, workbook, ...entry }: ReportDetail) =>
  ({
    ...reportView(entry),
    ...{ owner, timezone, text, digest, slots, outline, workbook },
  }) satisfies z.infer<typeof detailSchema>;

const organizationsRoute = createRoute({
  method: 'get',
  path: '/api/organizations',
  operationId: 'listOrganizations',
  tags: ['Reports'],
  summary: 'Organizations',
  security,
  responses: {
    200: jsonResponse(
      z.object({ organizations: z.array(organizationSchema).readonly() }),
      'The organizations that the token may see.',
    ),
    ...queryProblems,
  },
});

const nameSchema = z
  .string()
  .refine((name) => name.split('/').length === 2 && name.split('/').every((id) => ID_PATTERN.test(id)), 'org/report')
  .meta({ description: '`next` of the previous page.', example: 'acme/weekly' });

const listRoute = createRoute({
  method: 'get',
  path: '/api/reports',
  operationId: 'listReports',
  tags: ['Reports'],
  summary: 'List the reports as they are defined now',
  security,
  request: {
    query: z.strictObject({ org: orgSchema.optional(), after: nameSchema.optional(), limit: limitSchema(500, 100) }),
  },
  responses: {
    200: pageResponse({ reports: z.array(reportSchema).readonly() }, 'A page of reports, sorted by name.'),
    ...filterProblems,
  },
});

const oneRoute = createRoute({
  method: 'get',
  path: '/api/reports/{org}/{report}',
  operationId: 'getReport',
  tags: ['Reports'],
  summary: 'Show a report with its definition and next slots',
  security,
  request: { params: reportParams },
  responses: {
    200: jsonResponse(detailSchema, 'The report as it is defined now.'),
    ...queryProblems,
    404: PROBLEM_RESPONSES[404],
  },
});

/** Lists organizations and reports. */
export function addReportRoutes(app: AdminApp): void {
  app.openapi(organizationsRoute, async (context) => {
    const organizations = await context.get('access').organizations();
    return context.json({ organizations: organizations.map(organizationView) }, 200);
  });

  app.openapi(listRoute, async (context) => {
    const { reports, next } = await context.get('access').reports(context.req.valid('query'));
    return context.json({ reports: reports.map(reportView), next }, 200, nextLink(context.req.url, next));
  });

  app.openapi(oneRoute, async (context) => {
    const { org, report } = context.req.valid('param');
    return context.json(detailView(await context.get('access').report(org, report)), 200);
  });
}

const route = createRoute({
  method: 'get',
  path: '/api/schedules',
  operationId: 'listSlots',
  tags: ['Schedules'],
  summary: 'List the next slots, soonest first',
  description: 'Uses the current definitions. The default of `from` is now. `report` needs `org`.',
  security,
  request: {
    query: z
      .strictObject({
        org: orgSchema.optional(),
        report: reportIdSchema.optional(),
        from: instantText
          .optional()
          .meta({ description: `This instant or later: ${INSTANT_FORMS}. Days begin in UTC.` }),
        until: instantText.optional().meta({ description: 'Before this instant, in the forms of `from`.' }),
        limit: limitSchema(500, 50),
      })
      .refine(({ org, report }) => report === undefined || org !== undefined, {
        path: ['report'],
        message: 'only with org, because report ids are unique only within an organization',
      }),
  },
  responses: {
    200: jsonResponse(z.object({ slots: z.array(scheduledSchema).readonly() }), 'At most `limit` slots.'),
    ...filterProblems,
  },
});

/** `GET /api/schedules`. */
export function addScheduleRoutes(app: AdminApp, now: () => number): void {
  app.openapi(route, async (context) => {
    const { from, until, ...query } = context.req.valid('query');
    const filter = { ...query, from: parseQueryInstant(from, now()), until: parseQueryInstant(until, now()) };
    return context.json({ slots: await context.get('access').slots(filter) }, 200);
  });
}
