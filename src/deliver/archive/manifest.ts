import { z } from 'zod';
import { NOTE_CODES } from '../../fetch/dataset.ts';

/** File name of a picture beside `mail.html`. */
export const PICTURE_NAME = /^mail-[a-z0-9][a-z0-9_-]*\.png$/;

/** Far above what a run can have: 100 sections of several tables with up to 100 calls each. */
const MAX_CALLS = 100_000;
/** 50 deliveries to 100 recipients each. */
const MAX_RECIPIENTS = 10_000;
const MAX_FILES = 1_000;

/** Checks the length before any entry is parsed. */
const listOf = <T>(entry: z.ZodType<T>, max: number) => z.array(z.unknown()).max(max).pipe(z.array(entry)).readonly();

const nullableText = z.string().nullable();
const periodSchema = z.object({ from: z.string(), to: z.string(), timezone: z.string(), label: z.string() });

const knownFieldsSchema = z.object({
  version: z.literal(1),
  run: z.string(),
  org: z.string(),
  organization: z.string(),
  report: z.string(),
  title: z.string(),
  owner: z.string(),
  /** ISO instant of the schedule, or the trigger's id. */
  slot: z.string(),
  digest: z.string(),
  period: periodSchema,
  /** Of the sections with a period of their own, by section id. Absent if there is none, and in older manifests. */
  section_periods: z.record(z.string(), periodSchema).optional(),
  registry_version: z.number(),
  calls: listOf(
    z.object({
      id: z.string(),
      method: z.string(),
      path: z.string(),
      sections: z.array(z.string()).readonly(),
      asOf: nullableText,
      cached: z.boolean().nullable(),
      correlationId: nullableText,
      rows: z.number(),
      saved: z.boolean(),
      shared: z.object({ run: z.string(), at: z.string() }).optional(),
    }),
    MAX_CALLS,
  ),
  incomplete: listOf(
    z.object({
      section: z.string(),
      code: z.enum(NOTE_CODES),
      text: z.string(),
      incomplete: z.boolean(),
    }),
    MAX_CALLS,
  ),
  files: listOf(
    z.object({
      name: z.string(),
      format: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,39}$/),
      media_type: z.string().max(255).optional(),
      part: z.object({ of: z.string(), role: z.enum(['companion', 'bundle']) }).optional(),
      bytes: z.number(),
      sha256: z.string(),
    }),
    MAX_FILES,
  ),
  /** SHA-256 (hex) of `mail.html`, `mail.txt` and the inline pictures. The archive adds them when it publishes the run. */
  mail: z
    .object({
      html_sha256: z.string(),
      text_sha256: z.string(),
      pictures: listOf(
        z.object({ name: z.string().regex(PICTURE_NAME), cid: z.string(), sha256: z.string() }),
        MAX_FILES,
      ).optional(),
    })
    .optional(),
  recipients: listOf(z.string(), MAX_RECIPIENTS),
  /** SHA-256 (hex) over the values of every table: equal for equal figures. Absent where no delivery has a condition. */
  figures: z.string().optional(),
  /** Decisions on the deliveries with `send_if`. */
  conditions: listOf(
    z.object({
      target: z.string(),
      recipient: nullableText,
      send_if: z.string(),
      send: z.boolean(),
      reason: z.string(),
    }),
    MAX_RECIPIENTS,
  ).optional(),
  /** ISO instant at which the files were made. */
  made_at: z.string(),
  /** Only in a bucket: the folder beside the manifest that holds the published files. */
  stored: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
});

/** `manifest.json`: what a run produced and from which calls. Written once, when all files are complete. */
export type Manifest = Readonly<z.infer<typeof knownFieldsSchema>>;

/** `manifest.json` as it is read back. Loose: a newer version of Docket may have written more fields. */
export const manifestSchema: z.ZodType<Manifest> = knownFieldsSchema.loose();
