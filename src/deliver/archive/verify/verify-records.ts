import { z } from 'zod';
import { toDocketError } from '../../../base/error.ts';
import { sha256 } from '../../../base/sha256.ts';
import { extractProblem } from '../archive-errors.ts';
import { CORRECTIONS_FOLDER } from '../corrections/correction-archive.ts';
import { correctionEventSchema } from '../corrections/correction-event.ts';
import { type EventRecord, eventPath } from '../events/event-record.ts';
import type { Manifest } from '../manifest.ts';
import { REVIEWS_FOLDER } from '../reviews/review-archive.ts';
import { parseMetadata } from '../run-folder/run-metadata.ts';
import type { ArchiveStorage, RunRef } from '../storage/archive-storage.ts';
import { type ArchiveFinding, errorFinding } from './verify-run.ts';

/** What the manifest of a published run says about its records. */
export interface ExpectedRecords {
  readonly run: RunRef;
  readonly manifest: Pick<Manifest, 'edition_figures' | 'review'>;
}

type Storage = ArchiveStorage;

/** `<org>/<report>/<run>/<file>`. Excludes names that begin with a dot: the open reviews. */
const RECORD = /^([^/.][^/]*\/[^/]+\/[^/]+)\/(.+)$/;
const EVENT = /^events\/(\d{6})\.json$/;
/** Stored figures of an edition, and files from which its outputs were made. */
const EDITION = /^(?:figures\/([0-9a-f]{64})\.json|files\/([0-9a-f]{64}))$/;
const FROZEN = /^figures\/([0-9a-f]{64})\/files\.json$/;

// The fields that are needed here; `src/run/review` defines the others.
const reviewEventSchema = z.looseObject({
  seq: z.int(),
  type: z.string(),
  figures: z.string().optional(),
  content: z.string().optional(),
});
const fileListSchema = z.object({ files: z.array(z.object({ name: z.string(), sha256: z.string() })) });

/**
 * Finds figures, and events of corrections and reviews, that were changed or are missing. After an organization's
 * cut-over, its chain says which events exist. Before, hashes and numbers reveal accidental changes, and the manifests
 * show what is missing.
 *
 * @param expected what the manifests of published runs say
 * @param only this organization, or this run
 * @param readEvents reads the events in the chains, by organization; called once the events' files are listed
 */
export async function verifyRecords(
  storage: Storage,
  expected: readonly ExpectedRecords[],
  only: { readonly org?: string | undefined; readonly run?: RunRef | undefined },
  readEvents: () => Promise<ReadonlyMap<string, EventRecord>> = async () => new Map(),
): Promise<readonly ArchiveFinding[]> {
  const findings: ArchiveFinding[] = [];
  const corrections = await filesByRun(CORRECTIONS_FOLDER, storage, only);
  const reviews = await filesByRun(REVIEWS_FOLDER, storage, only);
  const records = await readEvents();
  if (only.run === undefined) for (const record of records.values()) addDeleted(record, { corrections, reviews });
  /** Reads only the events that count, and reports the others as findings. */
  const signedEvents = async (path: string, files: readonly string[], kind: EventKind): Promise<readonly string[]> => {
    const record = records.get(path.split('/')[1] ?? '');
    return record?.isCutOver === true ? compareEvents(path, files, kind, record, storage, findings) : files;
  };
  for (const [folder, all] of corrections) {
    const path = `${CORRECTIONS_FOLDER}/${folder}`;
    const files = await signedEvents(path, all, 'correction');
    await readRunEvents(path, files, 'correction', correctionEventSchema, storage, findings, files !== all);
    for (const [name, hash] of matching(files, EDITION)) {
      const path = `${CORRECTIONS_FOLDER}/${folder}/${name}`;
      await compareHash(path, hash, 'correction.figures_changed', storage, findings);
    }
  }
  const sealed = new Map<string, readonly string[]>();
  for (const [folder, all] of reviews) {
    const path = `${REVIEWS_FOLDER}/${folder}`;
    const files = await signedEvents(path, all, 'review');
    const events = await readRunEvents(path, files, 'review', reviewEventSchema, storage, findings, files !== all);
    sealed.set(
      folder,
      events.flatMap(({ type, content = '' }) => (type === 'seal' ? [content] : [])),
    );
    for (const { type, figures = '' } of events) {
      const list = `figures/${figures}/files.json`;
      if (type === 'figures' && !files.includes(list))
        findings.push(errorFinding('review.figures_missing', `${path}/${list}`, 'is missing'));
    }
    for (const [name, hash] of matching(files, FROZEN)) await verifyFrozen(`${path}/${name}`, hash, storage, findings);
  }
  for (const { run, manifest } of expected) {
    const folder = `${run.org}/${run.report}/${run.id}`;
    const missing: ArchiveFinding[] = [];
    const { edition_figures: hash, review } = manifest;
    if (hash !== undefined && !corrections.get(folder)?.includes(`figures/${hash}.json`)) {
      const path = `${CORRECTIONS_FOLDER}/${folder}/figures/${hash}.json`;
      missing.push(errorFinding('correction.figures_missing', path, 'is missing, although the manifest names it'));
    }
    if (review !== undefined && !sealed.get(folder)?.includes(review.content)) {
      const path = `${REVIEWS_FOLDER}/${folder}/events`;
      missing.push(errorFinding('review.seal_missing', path, 'has no end of the review that the manifest names'));
    }
    // Retention may have removed the run after its manifest was read.
    if (missing.length > 0 && (await storage.runFiles(run).get('manifest.json')) !== undefined)
      findings.push(...missing);
  }
  return findings;
}

type EventKind = 'correction' | 'review';

/** Adds folders that the chain knows, but that are no longer listed. */
function addDeleted(
  record: EventRecord,
  { corrections, reviews }: Readonly<Record<'corrections' | 'reviews', Map<string, readonly string[]>>>,
): void {
  for (const path of record.folders()) {
    for (const [root, found] of [
      [CORRECTIONS_FOLDER, corrections],
      [REVIEWS_FOLDER, reviews],
    ] as const) {
      const folder = path.slice(root.length + 1);
      if (path.startsWith(`${root}/`) && !found.has(folder)) found.set(folder, []);
    }
  }
}

/** @returns the files without events that the chain does not record */
async function compareEvents(
  path: string,
  files: readonly string[],
  kind: EventKind,
  record: EventRecord,
  storage: Storage,
  findings: ArchiveFinding[],
): Promise<readonly string[]> {
  const recorded = new Map(record.of(path).map(({ seq, sha256: hash }) => [eventPath(path, seq), hash]));
  for (const name of files) {
    if (!EVENT.test(name) || recorded.has(`${path}/${name}`)) continue;
    const problem = 'is not in the chain: it counts as absent';
    findings.push(errorFinding(`${kind}.event_unsigned`, `${path}/${name}`, problem));
  }
  const unchanged = new Set<string>();
  for (const [name, hash] of recorded) {
    if ((await compareHash(name, hash, `${kind}.event_changed`, storage, findings)) !== undefined) unchanged.add(name);
    else if ((await storage.metadata.get(name)) === undefined)
      findings.push(errorFinding(`${kind}.event_missing`, name, 'is missing, although the chain records it'));
  }
  return files.filter((name) => !EVENT.test(name) || unchanged.has(`${path}/${name}`));
}

/** Names of the files by `<org>/<report>/<run>`. */
async function filesByRun(
  root: string,
  { metadata }: Storage,
  { org, run }: { readonly org?: string | undefined; readonly run?: RunRef | undefined },
): Promise<Map<string, readonly string[]>> {
  if (run !== undefined) {
    const folder = `${run.org}/${run.report}/${run.id}`;
    return new Map([[folder, await metadata.list(`${root}/${folder}`)]]);
  }
  const found = new Map<string, readonly string[]>();
  for (const name of await metadata.list(root)) {
    const [, folder, file] = RECORD.exec(name) ?? [];
    if (folder === undefined || file === undefined) continue;
    if (org !== undefined && !folder.startsWith(`${org}/`)) continue;
    found.set(folder, [...(found.get(folder) ?? []), file]);
  }
  return found;
}

const matching = (files: readonly string[], pattern: RegExp): readonly (readonly [name: string, part: string])[] =>
  files.flatMap((name) => {
    const part = pattern
      .exec(name)
      ?.slice(1)
      .find((group) => group !== undefined);
    return part === undefined ? [] : [[name, part] as const];
  });

/** The readable events of a run, in order. */
async function readRunEvents<Event extends { readonly seq: number }>(
  folder: string,
  files: readonly string[],
  kind: EventKind,
  schema: z.ZodType<Event>,
  { metadata, location }: Storage,
  findings: ArchiveFinding[],
  isCompared: boolean,
): Promise<readonly Event[]> {
  const events: Event[] = [];
  let last = 0;
  for (const [name, digits] of matching(files, EVENT)) {
    const seq = Number(digits);
    for (last += 1; last < seq && !isCompared; last += 1) {
      const path = `${folder}/events/${String(last).padStart(6, '0')}.json`;
      findings.push(errorFinding(`${kind}.event_missing`, path, 'is missing, and later events are there'));
    }
    const path = `${folder}/${name}`;
    const bytes = await metadata.get(path);
    // The file expired after the listing.
    if (bytes === undefined) continue;
    const event = readable(() => parseMetadata(location, path, bytes, schema));
    if (typeof event !== 'string' && event.seq === seq) events.push(event);
    else {
      const problem = typeof event === 'string' ? event : `it is event ${event.seq}`;
      findings.push(errorFinding(`${kind}.event_changed`, path, `is damaged: ${problem}`));
    }
  }
  return events;
}

/** Verifies a review's frozen figures: the list of files by its name, and each file by the list. */
async function verifyFrozen(path: string, hash: string, storage: Storage, findings: ArchiveFinding[]): Promise<void> {
  const code = 'review.figures_changed';
  const bytes = await compareHash(path, hash, code, storage, findings);
  if (bytes === undefined) return;
  const list = readable(() => parseMetadata(storage.location, path, bytes, fileListSchema));
  if (typeof list === 'string') {
    findings.push(errorFinding(code, path, `is damaged: ${list}`));
    return;
  }
  for (const { name, sha256: expected } of list.files) {
    const file = `${path.slice(0, -'files.json'.length)}${name}`;
    const isMissing = (await compareHash(file, expected, code, storage, findings)) === undefined;
    // Retention may have removed the whole review after the listing.
    if (
      isMissing &&
      (await storage.metadata.get(file)) === undefined &&
      (await storage.metadata.get(path)) !== undefined
    )
      findings.push(errorFinding('review.figures_missing', file, 'is missing'));
  }
}

/** @returns the bytes; undefined if the file is missing or has changed */
async function compareHash(
  path: string,
  expected: string,
  code: string,
  { metadata }: Storage,
  findings: ArchiveFinding[],
): Promise<Buffer | undefined> {
  const bytes = await metadata.get(path);
  if (bytes === undefined) return undefined;
  const got = sha256(bytes);
  if (got === expected) return bytes;
  findings.push(errorFinding(code, path, `has changed: SHA-256 ${got} instead of ${expected}`));
  return undefined;
}

/** The result of `parse`, or what is wrong as text. */
function readable<Value extends object>(parse: () => Value): Value | string {
  try {
    return parse();
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (error.code !== 'archive.corrupt') throw error;
    return extractProblem(error.message);
  }
}
