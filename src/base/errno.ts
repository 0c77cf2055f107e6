/** The `code` of a thrown system or library error, e.g. `ENOENT`; undefined if it has none. */
export function errnoOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
}

/** Whether an error with one of these codes was thrown. */
export function isErrno(thrown: unknown, ...codes: readonly string[]): boolean {
  const code = errnoOf(thrown);
  return code !== undefined && codes.includes(code);
}

/** A disk failure, with its remedy. */
export interface DiskFailure {
  readonly code: string;
  /** E.g. `the disk is full`. */
  readonly description: string;
  /** An imperative sentence. */
  readonly remedy: string;
}

const OPEN_FILES = 'Raise the limit of open files.';
/** Disk failures, by errno code, that may pass without a change to Docket. */
const DISK_FAILURES: ReadonlyMap<string, readonly [description: string, remedy: string]> = new Map([
  ['ENOSPC', ['the disk is full', 'Free space on the disk.']],
  ['EDQUOT', ['the quota on the disk is used up', 'Free space on the disk, or raise the quota.']],
  ['EROFS', ['the disk is read-only', 'Remount the disk for writing.']],
  ['EIO', ['the disk reports an input/output error', 'Check the disk, and replace it if it fails.']],
  ['ESTALE', ['the network share is stale', 'Mount the network share again.']],
  ['ENODEV', ['the disk was removed', 'Mount the disk again.']],
  ['EMFILE', ['the process has too many open files', OPEN_FILES]],
  ['ENFILE', ['the machine has too many open files', OPEN_FILES]],
]);

/** The disk failure that was thrown, or that caused the thrown error; undefined for other errors. */
export function findDiskFailure(thrown: unknown): DiskFailure | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const code = errnoOf(thrown) ?? '';
  const failure = DISK_FAILURES.get(code);
  if (failure === undefined) return findDiskFailure(thrown.cause);
  const [description, remedy] = failure;
  return { code, description, remedy };
}
