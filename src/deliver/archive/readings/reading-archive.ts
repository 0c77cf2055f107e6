import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { sha256 } from '../../../base/sha256.ts';
import { DAY_MS, HOUR_MS, isoInstant } from '../../../base/time.ts';
import { type Reading, readingSchema } from '../../../plan/reading.ts';
import { archiveCorrupt } from '../archive-errors.ts';
import type { RetainedSince } from '../held-storage.ts';
import { requirePathName } from '../path-names.ts';
import { parseMetadata } from '../run-folder/run-metadata.ts';
import type { ArchiveStorage } from '../storage/archive-storage.ts';

/**
 * Folder in the archive: `<org>/<day>/<question>.json` for readings, `<org>/<day>/asked/<question>.<n>.json` for calls.
 */
export const READINGS_FOLDER = '.readings';

const DAY_PATTERN = /^\d{4}-\d{2}-\d{2}$/;
const STORED_FILE = /^([^/]+)\.json$/;
const CALL_FILE = /^asked\/([^/]+)\.(\d{3})(\.end)?\.json$/;

const instantSchema = z.string().refine((text) => !Number.isNaN(Date.parse(text)));
const claimSchema = z.looseObject({ by: z.string(), asked_at: instantSchema, until: instantSchema });
const endSchema = z.looseObject({
  at: instantSchema,
  code: z.string(),
  message: z.string(),
  next_at: instantSchema.optional(),
});

/** An API call for a reading, by any process. `end` is absent while the call runs, or if its process died. */
export interface ReadingCall {
  /** From 1. */
  readonly number: number;
  /** Epoch ms, by the clock of the calling process. */
  readonly askedAt: number;
  /** No other process calls before then; epoch ms. */
  readonly until: number;
  readonly end?: {
    readonly at: number;
    readonly code: string;
    readonly message: string;
    /** After a bad response: when to call again, epoch ms. Older versions do not record it. */
    readonly nextAt?: number | undefined;
  };
}

/** Identifies one question on one day. */
export interface QuestionRef {
  readonly org: string;
  /** YYYY-MM-DD. */
  readonly day: string;
  readonly question: string;
}

/** The state of a question on a day, as the file names alone show it. */
export interface QuestionState extends QuestionRef {
  readonly stored: boolean;
  /** Number of claimed calls. */
  readonly asked: number;
}

/** The archived readings. Throws `archive.unwritable`, `archive.unreachable`, `archive.corrupt`. */
export type ReadingArchive = ReturnType<typeof readingArchive>;

const folderOf = (org: string, day: string): string =>
  `${READINGS_FOLDER}/${requirePathName(org, 'organization')}/${requirePathName(day, 'day')}`;
const storedName = ({ org, day, question }: QuestionRef): string =>
  `${folderOf(org, day)}/${requirePathName(question, 'question')}.json`;
const callName = ({ org, day, question }: QuestionRef, number: number, end = ''): string =>
  `${folderOf(org, day)}/asked/${requirePathName(question, 'question')}.${String(number).padStart(3, '0')}${end}.json`;

/** The file text of a reading. Its hash reveals accidental changes. */
export function readingText(reading: Reading): string {
  const text = JSON.stringify(reading);
  return `${JSON.stringify({ ...reading, sha256: sha256(text) }, null, 2)}\n`;
}

/** Parses a reading's file. Throws `archive.corrupt` if it is invalid, was changed, or belongs to another place. */
export function parseReading(location: string, { org, day, question }: QuestionRef, bytes: Buffer): Reading {
  const name = `${folderOf(org, day)}/${question}.json`;
  const { sha256: expected, ...reading } = parseMetadata(location, name, bytes, z.looseObject({ sha256: z.string() }));
  const actual = sha256(JSON.stringify(reading));
  if (actual !== expected) {
    throw archiveCorrupt(location, `${name} has changed`, { expected: `SHA-256 ${expected}`, got: actual });
  }
  const parsed = parseMetadata(location, name, bytes, readingSchema);
  if (parsed.org !== org || parsed.day !== day || parsed.question !== question) {
    throw archiveCorrupt(location, `${name} is the reading of another question`, {
      expected: `${org}, ${day}, ${question}`,
      got: `${parsed.org}, ${parsed.day}, ${parsed.question}`,
    });
  }
  return Object.freeze(parsed);
}

/** Organization, day and question from a file name below `READINGS_FOLDER`; undefined for foreign files. */
export function parseReadingName(name: string): (QuestionRef & { readonly call?: number }) | undefined {
  const [org = '', day = '', ...rest] = name.split('/');
  if (!DAY_PATTERN.test(day)) return undefined;
  const file = rest.join('/');
  const [, stored] = STORED_FILE.exec(file) ?? [];
  if (stored !== undefined) return { org, day, question: stored };
  const [, requested, number] = CALL_FILE.exec(file) ?? [];
  return requested === undefined ? undefined : { org, day, question: requested, call: Number(number) };
}

export function readingArchive({ metadata, location }: ArchiveStorage) {
  const read = async <T>(name: string, schema: z.ZodType<T>): Promise<T | undefined> => {
    const bytes = await metadata.get(name);
    return bytes === undefined ? undefined : parseMetadata(location, name, bytes, schema);
  };
  const list = async (org: string, day?: string): Promise<readonly QuestionState[]> => {
    const prefix = day === undefined ? requirePathName(org, 'organization') : `${org}/${requirePathName(day, 'day')}`;
    const states = new Map<string, QuestionState>();
    for (const name of await metadata.list(`${READINGS_FOLDER}/${prefix}`)) {
      const ref = parseReadingName(`${prefix}/${name}`);
      if (ref === undefined) continue;
      const { call, ...of } = ref;
      const key = `${of.day}/${of.question}`;
      const { stored, asked } = states.get(key) ?? { stored: false, asked: 0 };
      states.set(key, { ...of, stored: stored || call === undefined, asked: Math.max(asked, call ?? 0) });
    }
    return [...states].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, state]) => state);
  };
  return {
    /** A folder or an `s3:` URL, for messages. */
    location,
    /** All questions of an organization, or of one of its days, with a call or a reading. Sorted by day and question. */
    list,
    get: async (ref: QuestionRef): Promise<Reading | undefined> => {
      const bytes = await metadata.get(storedName(ref));
      return bytes === undefined ? undefined : parseReading(location, ref, bytes);
    },
    /**
     * Stores the reading unless one exists. Only one of several processes succeeds. @returns whether this process stored
     * it
     */
    putIfAbsent: (reading: Reading): Promise<boolean> =>
      metadata.putIfAbsent(storedName(reading), readingText(reading)),
    /** The last call for a question; undefined before the first one. */
    lastCall: async (ref: QuestionRef): Promise<ReadingCall | undefined> => {
      const asked = (await list(ref.org, ref.day)).find(({ question }) => question === ref.question)?.asked ?? 0;
      if (asked === 0) return undefined;
      const [claim, end] = await Promise.all([
        read(callName(ref, asked), claimSchema),
        read(callName(ref, asked, '.end'), endSchema),
      ]);
      return {
        number: asked,
        askedAt: Date.parse(claim?.asked_at ?? ''),
        until: Date.parse(claim?.until ?? ''),
        ...(end === undefined
          ? {}
          : {
              end: {
                at: Date.parse(end.at),
                code: end.code,
                message: end.message,
                ...(end.next_at === undefined ? {} : { nextAt: Date.parse(end.next_at) }),
              },
            }),
      };
    },
    // The id distinguishes two claims of the same moment, even if the store's reply is lost.
    /** Claims call `number` for this process; false when another process has claimed it. */
    claim: (ref: QuestionRef, { number, askedAt, until }: Omit<ReadingCall, 'end'>): Promise<boolean> =>
      metadata.putIfAbsent(
        callName(ref, number),
        `${JSON.stringify({ by: randomUUID(), asked_at: isoInstant(askedAt), until: isoInstant(until) })}\n`,
      ),
    /** Records that a claimed call produced no reading. */
    fail: async (
      ref: QuestionRef,
      number: number,
      { at, code, message, nextAt }: NonNullable<ReadingCall['end']>,
    ): Promise<void> => {
      const next = nextAt === undefined ? {} : { next_at: isoInstant(nextAt) };
      await metadata.putIfAbsent(
        callName(ref, number, '.end'),
        `${JSON.stringify({ at: isoInstant(at), code, message, ...next })}\n`,
      );
    },
  };
}

/** The last instant of a civil day in any time zone: readings expire only after it. */
const endOfDayEverywhere = (day: string): number => Date.parse(day) + DAY_MS + 12 * HOUR_MS;

/**
 * Deletes readings older than their organization's retention. Safe to interrupt and to run in two processes at once.
 * @param retainedSince epoch ms; undefined: no limit
 * @returns the number of deleted days
 */
export async function deleteExpiredReadings(
  { metadata }: ArchiveStorage,
  retainedSince: RetainedSince,
  onFailure: (folder: string, error: unknown) => void,
): Promise<number> {
  const days = new Set<string>();
  for (const name of await metadata.list(READINGS_FOLDER)) {
    const ref = parseReadingName(name);
    const since = ref === undefined ? undefined : await retainedSince(ref.org);
    if (ref !== undefined && since !== undefined && endOfDayEverywhere(ref.day) < since)
      days.add(folderOf(ref.org, ref.day));
  }
  let deleted = 0;
  for (const folder of days) {
    try {
      await metadata.deleteAll(folder);
      deleted += 1;
    } catch (error) {
      onFailure(folder, error);
    }
  }
  return deleted;
}
