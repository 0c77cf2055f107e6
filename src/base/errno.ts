/** The `code` of a thrown system or library error, e.g. `ENOENT`; undefined where it has none. */
export function errnoOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
}

/** Whether an error with one of these codes was thrown. */
export function isErrno(thrown: unknown, ...codes: readonly string[]): boolean {
  const code = errnoOf(thrown);
  return code !== undefined && codes.includes(code);
}

/** Failures of a disk that may pass without a change to Docket, by errno code. */
const DISK_FAILURES: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the quota on the disk is used up'],
  ['EROFS', 'the disk is read-only'],
  ['EIO', 'the disk reports an input/output error'],
  ['ESTALE', 'the network share is stale'],
  ['ENODEV', 'the disk was removed'],
  ['EMFILE', 'the process has too many open files'],
  ['ENFILE', 'the machine has too many open files'],
]);

/** The disk failure that was thrown, or that caused what was thrown; undefined for other errors. */
export function findDiskFailure(thrown: unknown): { readonly code: string; readonly description: string } | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const code = errnoOf(thrown) ?? '';
  const description = DISK_FAILURES.get(code);
  return description === undefined ? findDiskFailure(thrown.cause) : { code, description };
}
