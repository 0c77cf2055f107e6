import { z } from 'zod';
import type { Period } from '../../definitions/periods/period.ts';
import { type CallRecord, NOTE_CODES, type Note } from '../../fetch/dataset.ts';
import type { StoredKind } from '../../render/artifact.ts';
import type { SendDecision } from '../send-decision.ts';

/** `manifest.json`: what a run produced and from which calls. Written once, when all files are complete. */
export interface Manifest {
  readonly version: 1;
  readonly run: string;
  readonly org: string;
  readonly organization: string;
  readonly report: string;
  readonly title: string;
  readonly owner: string;
  /** ISO instant of the schedule, or the trigger's id. */
  readonly slot: string;
  readonly digest: string;
  readonly period: Period;
  /** Of the sections with a period of their own, by section id. Absent if there is none, and in older manifests. */
  readonly section_periods?: Readonly<Record<string, Period>> | undefined;
  readonly registry_version: number;
  readonly calls: readonly CallRecord[];
  readonly incomplete: readonly (Note & { readonly section: string })[];
  readonly files: readonly (StoredKind & {
    readonly name: string;
    readonly bytes: number;
    readonly sha256: string;
  })[];
  /** SHA-256 (hex) of `mail.html`, `mail.txt` and the inline pictures. The archive adds them when it publishes the run. */
  readonly mail?:
    | {
        readonly html_sha256: string;
        readonly text_sha256: string;
        readonly pictures?:
          | readonly { readonly name: string; readonly cid: string; readonly sha256: string }[]
          | undefined;
      }
    | undefined;
  readonly recipients: readonly string[];
  /** SHA-256 (hex) over the values of every table: equal for equal figures. Absent where no delivery has a condition. */
  readonly figures?: string | undefined;
  /** Decisions on the deliveries with `send_if`. */
  readonly conditions?: readonly SendDecision[] | undefined;
  /** ISO instant at which the files were made. */
  readonly made_at: string;
  /** Only in a bucket: the folder beside the manifest that holds the published files. */
  readonly stored?: string | undefined;
}

/** File name of a picture beside `mail.html`. */
export const PICTURE_NAME = /^mail-[a-z0-9][a-z0-9_-]*\.png$/;

/** Far above what a run can have: 100 sections of several tables with up to 100 calls each. */
const MAX_CALLS = 100_000;
/** 50 deliveries to 100 recipients each. */
const MAX_RECIPIENTS = 10_000;
const MAX_FILES = 1_000;

/** Checks the length before any entry is parsed. */
const listOf = <T>(entry: z.ZodType<T>, max: number) => z.array(z.unknown()).max(max).pipe(z.array(entry));

const nullableText = z.string().nullable();
const periodSchema = z.object({ from: z.string(), to: z.string(), timezone: z.string(), label: z.string() });

/** `manifest.json` as it is read back. Loose: a newer version of Docket may have written more fields. */
export const manifestSchema: z.ZodType<Manifest> = z.looseObject({
  version: z.literal(1),
  run: z.string(),
  org: z.string(),
  organization: z.string(),
  report: z.string(),
  title: z.string(),
  owner: z.string(),
  slot: z.string(),
  digest: z.string(),
  period: periodSchema,
  section_periods: z.record(z.string(), periodSchema).optional(),
  registry_version: z.number(),
  calls: listOf(
    z.object({
      id: z.string(),
      method: z.string(),
      path: z.string(),
      sections: z.array(z.string()),
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
  figures: z.string().optional(),
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
  made_at: z.string(),
  stored: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
});
