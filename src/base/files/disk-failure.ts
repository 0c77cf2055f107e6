import { errnoOf } from '../errno.ts';

/** Failures of a disk that may pass without a change to Docket, by errno code. */
const DESCRIPTIONS: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the quota on the disk is used up'],
  ['EROFS', 'the disk is read-only'],
  ['EIO', 'the disk reports an input/output error'],
  ['ESTALE', 'the network share is stale'],
  ['ENODEV', 'the disk was removed'],
  ['EMFILE', 'the process has too many open files'],
  ['ENFILE', 'the machine has too many open files'],
]);

export interface DiskFailure {
  /** Errno code, e.g. `ENOSPC`. */
  readonly code: string;
  readonly description: string;
}

/** The disk failure that was thrown, or that caused what was thrown; undefined for other errors. */
export function findDiskFailure(thrown: unknown): DiskFailure | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const code = errnoOf(thrown) ?? '';
  const description = DESCRIPTIONS.get(code);
  return description === undefined ? findDiskFailure(thrown.cause) : { code, description };
}
