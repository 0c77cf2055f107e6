import { z } from 'zod';
import { NOTE_CODES } from '../fetch/dataset.ts';
import { ARTIFACT_FORMATS } from '../render/artifact.ts';
import type { Manifest } from './archive.ts';

/** Of a mail's picture beside `mail.html`. */
export const PICTURE_NAME = /^mail-[a-z0-9][a-z0-9_-]*\.png$/;

/** Far above what a run can have: 100 sections of several tables with up to 100 calls each. */
const MAX_CALLS = 100_000;
/** 50 deliveries to 100 recipients each. */
const MAX_RECIPIENTS = 10_000;
const MAX_FILES = 1_000;

/** Counted before any entry is looked at. */
const listOf = <T>(entry: z.ZodType<T>, max: number) => z.array(z.unknown()).max(max).pipe(z.array(entry));

const nullableText = z.string().nullable();

/** What `manifest.json` holds, read back. Loose: a newer version of Docket may have written more. */
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
  period: z.object({ from: z.string(), to: z.string(), timezone: z.string(), label: z.string() }),
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
      format: z.enum(ARTIFACT_FORMATS),
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
