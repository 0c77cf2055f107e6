import { execFile } from 'node:child_process';
import { chmod, cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { z } from 'zod';

/** Files of a recording beside `jobs/`. */
export const MANIFEST = 'manifest.json';
/** A snapshot of Redis 7, gzipped. */
export const REDIS = 'redis.rdb.gz';
/** The folders `archive` and `out`. */
export const FOLDERS = 'folders.tar.gz';
export const TOKENS = 'tokens.yaml';
export const SIGNING_KEY = 'signing.test-key.pem';
export const CHECKPOINTS = 'checkpoints.jsonl';

const rowSchema = z.object({ id: z.string(), target: z.string(), recipient: z.string(), state: z.string() });
const fileSchema = z.object({ name: z.string(), sha256: z.string() });

/** `docket runs --json` and `docket deliveries --json`, as far as they are compared. */
export const runsSchema = z.object({
  runs: z.array(
    z.object({
      id: z.string(),
      org: z.string(),
      report: z.string(),
      state: z.string(),
      trigger: z.string(),
      slot: z.string(),
      files: z.array(fileSchema),
    }),
  ),
});
export const deliveriesSchema = z.object({ deliveries: z.array(rowSchema.extend({ run: z.string() })) });

/** `docket readings --json`, as far as it is compared. */
export const readingsSchema = z.object({
  readings: z.array(z.object({ org: z.string(), day: z.string(), question: z.string(), as_of: z.string() })),
});

const runSchema = runsSchema.shape.runs.element.extend({
  /** What the test calls it. */
  name: z.string(),
  what: z.string(),
  deliveries: z.array(rowSchema),
});
export type RecordedRun = z.infer<typeof runSchema>;

export const recordingSchema = z.object({
  version: z.string(),
  /** When the last process had ended. */
  recordedAt: z.iso.datetime(),
  /** At which the history of the sandbox ended. */
  serviceNow: z.iso.datetime(),
  /** The next slot of the reports that are due once an hour. */
  nextSlot: z.iso.datetime(),
  /** The operator's token of `tokens.yaml`, and the cookie of a session that it has opened. */
  token: z.string(),
  /** The token of the person who may approve. */
  approver: z.string(),
  cookie: z.string(),
  /** `<org>` or `<org>/<report>`. */
  pauses: z.array(z.string()),
  /** Calls to the service that the snoozed run has stored answers of, and all that it makes. */
  snoozed: z.object({ stored: z.int(), calls: z.int() }),
  readings: readingsSchema,
  runs: z.array(runSchema),
  /** Messages that have arrived whole. */
  mails: z.array(z.object({ run: z.string(), messageId: z.string(), to: z.array(z.string()), answered: z.boolean() })),
});
export type Recording = z.infer<typeof recordingSchema>;

export async function readRecording(folder: string): Promise<Recording> {
  return recordingSchema.parse(JSON.parse(await readFile(join(folder, MANIFEST), 'utf8')));
}

/** Puts the folders of a recording into an empty one. Returns the snapshot of Redis. */
export async function restoreRecording(from: string, to: string): Promise<Buffer> {
  await cp(join(from, 'jobs'), join(to, 'jobs'), { recursive: true });
  for (const name of [TOKENS, SIGNING_KEY]) {
    await cp(join(from, name), join(to, name));
    // Git keeps no such modes.
    await chmod(join(to, name), 0o600);
  }
  await promisify(execFile)('tar', ['-xzf', join(from, FOLDERS), '-C', to]);
  return promisify(gunzip)(await readFile(join(from, REDIS)));
}
