import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { wordsOf } from '../base/error.ts';
import type { SecretSource } from '../base/secret.ts';
import type { SftpSpec } from '../define/target.ts';
import type { Artifact } from '../render/artifact.ts';
import type { Ending, Leave, Proof } from './attempt.ts';
import { type Fence, noFence } from './fence.ts';
import { isRefusal } from './refusal.ts';
import { openSftp, SftpFailure, type SftpSession } from './sftp-session.ts';
import { otherBytes, Taken } from './taken.ts';

/** How a server is spoken to; another one in tests. */
export type OpenSftp = (spec: SftpSpec, secrets: SecretSource) => Promise<SftpSession>;

/** What is to stand where. */
export interface SftpUpload {
  readonly spec: SftpSpec;
  /** Filled and checked. */
  readonly folder: string;
  readonly artifacts: readonly Artifact[];
  /** Names our temporary files, so that a later attempt knows them again. */
  readonly delivery: string;
  readonly clock: Pick<Clock, 'now'>;
}

const DAY_MS = 86_400_000;
const TEMPORARY = /^\.docket-[0-9a-f]+-(\d+)-[0-9a-f]+\.tmp$/;

const join = (folder: string, name: string): string => (folder.endsWith('/') ? folder + name : `${folder}/${name}`);
const prefixOf = (delivery: string): string => `.docket-${delivery}-`;

type Standing = 'absent' | 'same' | 'other';

async function look(session: SftpSession, path: string, artifact: Artifact): Promise<Standing> {
  const bytes = await session.size(path);
  if (bytes === undefined) return 'absent';
  if (bytes !== artifact.bytes) return 'other';
  const digest = await session.digest(path).catch((error: unknown) => {
    // What may not be read cannot be proven to be ours.
    if (error instanceof SftpFailure && error.kind === 'answered') return undefined;
    throw error;
  });
  return digest === artifact.sha256 ? 'same' : 'other';
}

/**
 * Uploads what is missing under temporary names, then gives the names one after the other: whoever watches the folder
 * sees whole files only. A failure before the first name is given leaves nothing and may be retried. After it, somebody
 * may have taken a file already: what the folder then does not prove is `unknown`.
 */
export function uploadAll(upload: SftpUpload, secrets: SecretSource, open: OpenSftp = openSftp): Leave {
  return async (signal, fence = noFence) => {
    let session: SftpSession;
    try {
      session = await open(upload.spec, secrets);
    } catch (error) {
      return notOpened(error);
    }
    const progress: Progress = { temporary: new Set(), named: 0, naming: false };
    // Once names are given, giving up would leave nobody the wiser.
    const stop = (): void => (progress.naming ? undefined : session.close());
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await uploadMissing(session, upload, progress, signal, fence);
    } catch (error) {
      const ending = endingOf(error, progress, upload.artifacts.length);
      const lost = error instanceof SftpFailure && error.kind === 'lost';
      if (!(lost && progress.naming)) return ending;
      session.close();
      return await afterLoss(upload, secrets, open, ending);
    } finally {
      signal.removeEventListener('abort', stop);
      for (const path of progress.temporary) await session.remove(path).catch(() => {});
      session.close();
    }
  };
}

interface Progress {
  /** Files of ours that have no name yet. */
  readonly temporary: Set<string>;
  named: number;
  /** A rename was asked for. */
  naming: boolean;
}

async function uploadMissing(
  session: SftpSession,
  upload: SftpUpload,
  progress: Progress,
  signal: AbortSignal,
  fence: Fence,
): Promise<Ending> {
  const { spec, folder, artifacts, delivery } = upload;
  if (spec.mkdir) await session.makeFolder(folder);
  await sweep(session, upload);
  const missing: { artifact: Artifact; final: string; temporary: string }[] = [];
  for (const [index, artifact] of artifacts.entries()) {
    const final = join(folder, artifact.name);
    const standing = await look(session, final, artifact);
    if (standing === 'other' && !spec.overwrite) return { state: 'refused', detail: otherBytes(final) };
    const temporary = join(folder, `${prefixOf(delivery)}${index}-${randomBytes(4).toString('hex')}.tmp`);
    if (standing !== 'same') missing.push({ artifact, final, temporary });
  }
  for (const { artifact, temporary } of missing) {
    signal.throwIfAborted();
    progress.temporary.add(temporary);
    await session.write(temporary, artifact, signal);
  }
  for (const { artifact, final, temporary } of missing) {
    if (!progress.naming) signal.throwIfAborted();
    await fence.pass();
    progress.naming = true;
    try {
      await session.rename(temporary, final, spec.overwrite);
      progress.temporary.delete(temporary);
    } catch (error) {
      // Refused because the name is taken: by an attempt of ours that was thought dead, or by somebody else.
      const answered = error instanceof SftpFailure && error.kind === 'answered';
      const standing = answered ? await look(session, final, artifact) : 'absent';
      if (standing === 'absent') throw error;
      if (standing === 'other') throw new Taken(otherBytes(final));
    }
    progress.named += 1;
  }
  const before = artifacts.length - missing.length;
  const files = `${artifacts.length} ${artifacts.length === 1 ? 'file' : 'files'}`;
  return { state: 'sent', detail: before === 0 ? files : `${files}, ${before} there already` };
}

/** Removes temporary files: this delivery's of an attempt that died, and any of Docket's older than a day. */
async function sweep(session: SftpSession, { folder, delivery, clock }: SftpUpload): Promise<void> {
  for (const { name, modified } of (await session.list(folder)) ?? []) {
    const stale = TEMPORARY.test(name) && modified * 1000 < clock.now() - DAY_MS;
    if (stale || (TEMPORARY.test(name) && name.startsWith(prefixOf(delivery)))) {
      await session.remove(join(folder, name)).catch(() => {});
    }
  }
}

function notOpened(error: unknown): Ending {
  const detail = wordsOf(error);
  const stranger = error instanceof SftpFailure && error.kind === 'stranger';
  return stranger || isRefusal(error) ? { state: 'refused', detail } : { state: 'pending', detail, targetDown: true };
}

function endingOf(error: unknown, { named }: Progress, files: number): Ending {
  const said = wordsOf(error);
  if (named > 0) return { state: 'unknown', detail: `${named} of ${files} files have their names: ${said}` };
  if (error instanceof Taken) return { state: 'refused', detail: said };
  const targetDown = error instanceof SftpFailure && error.kind === 'lost';
  return { state: 'pending', detail: `The files cannot be written: ${said}`, ...(targetDown ? { targetDown } : {}) };
}

/** The answer to a rename was lost: the folder may still prove what became of it. */
async function afterLoss(
  upload: SftpUpload,
  secrets: SecretSource,
  open: OpenSftp,
  otherwise: Ending,
): Promise<Ending> {
  const proof = await proveUpload(upload, secrets, open).catch(() => 'unknown' as const);
  const lost = 'The connection was lost while the files were given their names';
  if (proof === 'sent') return { state: 'sent', detail: `${lost}; all of them are there.` };
  if (proof === 'unsent') return { ...otherwise, state: 'pending', detail: `${lost}; none of them has one.` };
  return { state: 'unknown', detail: `${lost}; somebody may have taken them.` };
}

/**
 * What the folder shows of an attempt that ended without a word. Names are given in order, so as long as the first file
 * still has its temporary one, none was given. No file and no temporary file: taken already, or never uploaded.
 */
export async function proveUpload(
  { spec, folder, artifacts, delivery }: SftpUpload,
  secrets: SecretSource,
  open: OpenSftp = openSftp,
): Promise<Proof> {
  const session = await open(spec, secrets);
  try {
    const standings: Standing[] = [];
    for (const artifact of artifacts) standings.push(await look(session, join(folder, artifact.name), artifact));
    if (standings.every((standing) => standing === 'same')) return 'sent';
    const names = (await session.list(folder)) ?? [];
    const first =
      standings.indexOf('same') === -1 && names.some(({ name }) => name.startsWith(`${prefixOf(delivery)}0-`));
    return first ? 'unsent' : 'unknown';
  } finally {
    session.close();
  }
}
