import { z } from 'zod';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { parseMetadata } from '../../deliver/archive/run-folder/run-metadata.ts';
import type { RunOrder } from '../run-record.ts';

/** What opens the record of a run again, and runs it, after Redis was lost. */
export interface OpenReview {
  readonly order: RunOrder;
  /** The frozen ones, as in the definition store. */
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

/** A value that this or another version of Docket has written from one of its own type: only the identifying fields are checked. */
const written = <T>(schema: z.ZodType): z.ZodType<T> => z.custom<T>((value) => schema.safeParse(value).success);

export const openReviewSchema: z.ZodType<OpenReview> = z.object({
  order: written<RunOrder>(orderSchema),
  definition: written<Definition>(definitionSchema),
  settings: written<OrgSettings>(settingsSchema),
});

/** The text for `ReviewArchive.open`. */
export const openReviewText = ({ order, definition, settings }: OpenReview): string =>
  JSON.stringify({ order: orderOf(order), definition, settings } satisfies OpenReview);

/** The order alone: a record has more fields, which change. */
export const orderOf = (order: RunOrder): RunOrder => ({
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
  ...(order.corrects === undefined ? {} : { corrects: order.corrects }),
});

/** Reads what `openReviewText` wrote. Throws `archive.corrupt`. */
export const parseOpenReview = (text: string): OpenReview =>
  parseMetadata('the open reviews', 'the order of a run', Buffer.from(text), openReviewSchema);
