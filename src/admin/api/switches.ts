import { z } from 'zod';
import { isoInstant } from '../../base/time.ts';
import { type StoppedRun, SWITCH_KINDS, type Switch } from '../../services/switches/switch-service.ts';
import { idSchema } from './schemas.ts';

export const switchSchema = z
  .object({
    kind: z.enum(SWITCH_KINDS).describe('stop: no delivery leaves. hold: nothing is deleted and nothing expires.'),
    organization: z.string().nullable().describe('Null: everything.'),
    by: z.string(),
    reason: z.string(),
    since: z.iso.datetime(),
  })
  .meta({ id: 'Switch' });

export const switchView = ({ kind, org, by, reason, since }: Switch): z.infer<typeof switchSchema> => ({
  kind,
  organization: org,
  by,
  reason,
  since: isoInstant(since),
});

export const stoppedRunSchema = z
  .object({
    run: idSchema,
    organization: z.string(),
    report: z.string(),
    period: z.string().describe('Its label.'),
    created_at: z.iso.datetime(),
    replaced_by: z
      .object({ run: idSchema, why: z.enum(['superseded', 'corrected']) })
      .nullable()
      .describe('A newer run of the report and period. A release cancels this run, unless `also` names it.'),
  })
  .meta({ id: 'StoppedRun' });

export const stoppedRunView = ({ record, replacedBy }: StoppedRun): z.infer<typeof stoppedRunSchema> => ({
  run: record.id,
  organization: record.org,
  report: record.report,
  period: record.period.label,
  created_at: isoInstant(record.createdAt),
  replaced_by: replacedBy,
});
