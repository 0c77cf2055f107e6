import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

const rulesSchema = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          labels: z.record(z.string(), z.string()),
          annotations: z.object({ summary: z.string(), description: z.string() }),
        }),
      ),
    }),
  ),
});

/** The shipped alert rules. */
export const alertsOf = async (folder: string) =>
  rulesSchema.parse(parse(await readFile(join(folder, 'alerts.yaml'), 'utf8'))).groups.flatMap(({ rules }) => rules);

const dashboardSchema = z.looseObject({
  schemaVersion: z.number().min(39),
  templating: z.object({ list: z.array(z.looseObject({ name: z.string(), type: z.string() })) }),
  panels: z.array(
    z.looseObject({
      id: z.number(),
      type: z.enum(['row', 'stat', 'timeseries']),
      title: z.string(),
      datasource: z.object({ type: z.literal('prometheus'), uid: z.string() }).optional(),
      gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
      targets: z.array(z.looseObject({ refId: z.string(), expr: z.string() })).default([]),
    }),
  ),
});

/** The shipped dashboard. */
export const dashboardOf = async (folder: string) =>
  dashboardSchema.parse(JSON.parse(await readFile(join(folder, 'dashboard.json'), 'utf8')));
