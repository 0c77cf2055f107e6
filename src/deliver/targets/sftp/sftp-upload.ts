import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/error.ts';
import type { SecretSource } from '../../../base/secrets/secret.ts';
import { DAY_MS } from '../../../base/time.ts';
import type { Artifact } from '../../../render/artifact.ts';
import type { AttemptResult, SendFn, VerificationResult } from '../../attempt.ts';
import { type Fence, noFence } from '../../internal/fence.ts';
import { FileConflictError, fileConflictDetail, fileCount } from '../file-target.ts';
import { isTargetRefusal } from '../target.ts';
import type { SftpSpec } from './sftp-schema.ts';
import { SftpFailure, type SftpSession } from './sftp-session.ts';

/** Opens a session with a server. */
export type OpenSftp = (spec: SftpSpec, secrets: SecretSource) => Promise<SftpSession>;

export interface SftpUpload {
  readonly spec: SftpSpec;
  /** The filled and checked folder template. */
  readonly folder: string;
  readonly artifacts: readonly Artifact[];
  /** Part of the temporary files' names, by which a later attempt recognizes them. */
  readonly delivery: string;
  readonly clock: Clock;
}

const TEMPORARY = /^\.docket-[0-9a-f]+-(\d+)-[0-9a-f]+\.tmp$/;

export const joinPath = (folder: string, name: string): string =>
  folder.endsWith('/') ? folder + name : `${folder}/${name}`;
const temporaryPrefix = (delivery: string): string => `.docket-${delivery}-`;

type RemoteFileState = 'absent' | 'same' | 'other';

async function compareRemoteFile(session: SftpSession, path: string, artifact: Artifact): Promise<RemoteFileState> {
  const bytes = await session.size(path);
  if (bytes === undefined) return 'absent';
  if (bytes !== artifact.bytes) return 'other';
  const digest = await session.digest(path).catch((error: unknown) => {
    // A file that may not be read counts as different.
    if (error instanceof SftpFailure && error.kind === 'answered') return undefined;
    throw error;
  });
  return digest === artifact.sha256 ? 'same' : 'other';
}

/**
 * Uploads the missing files under temporary names, then renames them one by one, so that readers of the folder see
 * complete files only. A failure before the first rename leaves nothing behind and may be retried. After it a reader
 * may have taken a file: the result is `unknown`, unless the folder proves otherwise.
 */
export function uploadFiles(upload: SftpUpload, secrets: SecretSource, open: OpenSftp): SendFn {
  return async (signal, fence = noFence) => {
    let session: SftpSession;
    try {
      session = await open(upload.spec, secrets);
    } catch (error) {
      return openFailureResult(error);
    }
    const progress: UploadProgress = { temporary: new Set(), renamed: 0, renaming: false };
    // Does not abort between renames: that would make the result `unknown`.
    const stop = (): void => (progress.renaming ? undefined : session.close());
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await uploadMissing(session, upload, progress, signal, fence);
    } catch (error) {
      const result = toAttemptResult(error, progress, upload.artifacts.length);
      const lost = error instanceof SftpFailure && error.kind === 'lost';
      if (!(lost && progress.renaming)) return result;
      session.close();
      return await resolveLostRename(upload, secrets, open, result);
    } finally {
      signal.removeEventListener('abort', stop);
      for (const path of progress.temporary) await session.remove(path).catch(() => {});
      session.close();
    }
  };
}

interface UploadProgress {
  /** Paths of temporary files to remove at the end. */
  readonly temporary: Set<string>;
  renamed: number;
  /** Whether the first rename was requested. */
  renaming: boolean;
}

async function uploadMissing(
  session: SftpSession,
  upload: SftpUpload,
  progress: UploadProgress,
  signal: AbortSignal,
  fence: Fence,
): Promise<AttemptResult> {
  const { spec, folder, artifacts, delivery } = upload;
  if (spec.mkdir) await session.makeFolder(folder);
  await removeStaleFiles(session, upload);
  const missing: { artifact: Artifact; final: string; temporary: string }[] = [];
  for (const [index, artifact] of artifacts.entries()) {
    const final = joinPath(folder, artifact.name);
    const existing = await compareRemoteFile(session, final, artifact);
    if (existing === 'other' && !spec.overwrite) return { state: 'refused', detail: fileConflictDetail(final) };
    const temporary = joinPath(folder, `${temporaryPrefix(delivery)}${index}-${randomBytes(4).toString('hex')}.tmp`);
    if (existing !== 'same') missing.push({ artifact, final, temporary });
  }
  for (const { artifact, temporary } of missing) {
    signal.throwIfAborted();
    progress.temporary.add(temporary);
    await session.write(temporary, artifact, signal);
  }
  for (const { artifact, final, temporary } of missing) {
    if (!progress.renaming) signal.throwIfAborted();
    await fence.confirmIfStale();
    progress.renaming = true;
    try {
      await session.rename(temporary, final, spec.overwrite);
      progress.temporary.delete(temporary);
    } catch (error) {
      // An earlier attempt of this delivery, or another program, may have taken the name.
      const answered = error instanceof SftpFailure && error.kind === 'answered';
      const existing = answered ? await compareRemoteFile(session, final, artifact) : 'absent';
      if (existing === 'absent') throw error;
      if (existing === 'other') throw new FileConflictError(fileConflictDetail(final));
    }
    progress.renamed += 1;
  }
  const existing = artifacts.length - missing.length;
  const files = fileCount(artifacts.length);
  return { state: 'sent', detail: existing === 0 ? files : `${files}, ${existing} there already` };
}

/** Removes temporary files of earlier attempts at this delivery, and any of Docket's that are older than a day. */
async function removeStaleFiles(session: SftpSession, { folder, delivery, clock }: SftpUpload): Promise<void> {
  for (const { name, modified } of (await session.list(folder)) ?? []) {
    const stale = TEMPORARY.test(name) && modified * 1000 < clock.now() - DAY_MS;
    if (stale || (TEMPORARY.test(name) && name.startsWith(temporaryPrefix(delivery)))) {
      await session.remove(joinPath(folder, name)).catch(() => {});
    }
  }
}

function openFailureResult(error: unknown): AttemptResult {
  const detail = errorMessage(error);
  const mismatch = error instanceof SftpFailure && error.kind === 'hostKeyMismatch';
  return mismatch || isTargetRefusal(error)
    ? { state: 'refused', detail }
    : { state: 'pending', detail, targetDown: true };
}

const refusalDetail = (reason: string): string =>
  `The server refuses ${reason}. Files are uploaded as .docket-*.tmp, then renamed: let the user create, STAT and rename such files in the folder.`;

function toAttemptResult(error: unknown, { renamed }: UploadProgress, files: number): AttemptResult {
  const reason = errorMessage(error);
  if (renamed > 0) return { state: 'unknown', detail: `${renamed} of ${files} files have their names: ${reason}` };
  if (error instanceof FileConflictError) return { state: 'refused', detail: reason };
  if (error instanceof SftpFailure && error.permanent) return { state: 'refused', detail: refusalDetail(reason) };
  const targetDown = error instanceof SftpFailure && error.kind === 'lost';
  return { state: 'pending', detail: `The files cannot be written: ${reason}`, ...(targetDown ? { targetDown } : {}) };
}

/** Finds the result of a rename whose reply was lost, as far as the folder shows it. */
async function resolveLostRename(
  upload: SftpUpload,
  secrets: SecretSource,
  open: OpenSftp,
  otherwise: AttemptResult,
): Promise<AttemptResult> {
  const verified = await verifyUpload(upload, secrets, open).catch(() => 'unknown' as const);
  const lost = 'The connection was lost while the files were given their names';
  if (verified === 'sent') return { state: 'sent', detail: `${lost}; all of them are there.` };
  if (verified === 'unsent') return { ...otherwise, state: 'pending', detail: `${lost}; none of them has one.` };
  return { state: 'unknown', detail: `${lost}; somebody may have taken them.` };
}

/**
 * Checks the folder after an attempt without a result. Files are renamed in order: while the first one still has its
 * temporary name, none was renamed. If neither file nor temporary file exists, a reader took the file, or it was never
 * uploaded.
 */
export async function verifyUpload(
  { spec, folder, artifacts, delivery }: SftpUpload,
  secrets: SecretSource,
  open: OpenSftp,
): Promise<VerificationResult> {
  const session = await open(spec, secrets);
  try {
    const states: RemoteFileState[] = [];
    for (const artifact of artifacts)
      states.push(await compareRemoteFile(session, joinPath(folder, artifact.name), artifact));
    if (states.every((state) => state === 'same')) return 'sent';
    const names = (await session.list(folder)) ?? [];
    const noneRenamed =
      !states.includes('same') && names.some(({ name }) => name.startsWith(`${temporaryPrefix(delivery)}0-`));
    return noneRenamed ? 'unsent' : 'unknown';
  } finally {
    session.close();
  }
}
