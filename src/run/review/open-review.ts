import { z } from 'zod';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { parseMetadata } from '../../deliver/archive/run-folder/run-metadata.ts';
import type { RunOrder } from '../run-record.ts';

/** What is needed to restore a run's record after Redis was lost, and to continue the run. */
export interface OpenReview {
  readonly order: RunOrder;
  /** The frozen definition and settings, as in the definition store. */
  readonly definition: Definition;
  readonly settings: OrgSettings;
}

const orderSchema = z.looseObject({
  id: z.string(),
  org: z.string(),
  report: z.string(),
  slot: z.string(),
  digest: z.string(),
  deliver: z.boolean(),
});
const definitionSchema = z.looseObject({ org: z.string(), report: z.string(), digest: z.string() });
const settingsSchema = z.looseObject({ id: z.string(), timezone: z.string() });

/** Accepts a value that some version of Docket wrote from a typed value. Only its identifying fields are checked. */
const written = <T>(schema: z.ZodType): z.ZodType<T> => z.custom<T>((value) => schema.safeParse(value).success);

export const openReviewSchema: z.ZodType<OpenReview> = z.object({
  order: written<RunOrder>(orderSchema),
  definition: written<Definition>(definitionSchema),
  settings: written<OrgSettings>(settingsSchema),
});

/** Makes the text for `ReviewArchive.open`. */
export const openReviewText = ({ order, definition, settings }: OpenReview): string =>
  JSON.stringify({ order: toRunOrder(order), definition, settings } satisfies OpenReview);

/** Only the order: a record has more fields, which change. */
export const toRunOrder = (order: RunOrder): RunOrder => ({
  id: order.id,
  org: order.org,
  report: order.report,
  slot: order.slot,
  trigger: order.trigger,
  ...(order.by === undefined ? {} : { by: order.by }),
  ...(order.bySubject === undefined ? {} : { bySubject: order.bySubject }),
  priority: order.priority,
  period: order.period,
  ...(order.sectionPeriods === undefined ? {} : { sectionPeriods: order.sectionPeriods }),
  digest: order.digest,
  deliver: order.deliver,
  createdAt: order.createdAt,
  ...(order.deadlineMs === undefined ? {} : { deadlineMs: order.deadlineMs }),
  ...(order.asked === undefined ? {} : { asked: order.asked }),
  ...(order.value === undefined ? {} : { value: order.value }),
  ...(order.repeats === undefined ? {} : { repeats: order.repeats }),
  ...(order.corrects === undefined ? {} : { corrects: order.corrects }),
});

/** Parses the text of `openReviewText`. Throws `archive.corrupt`. */
export const parseOpenReview = (text: string): OpenReview =>
  parseMetadata('the open reviews', 'the order of a run', Buffer.from(text), openReviewSchema);
