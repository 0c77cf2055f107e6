/** What a disk says that cannot be used just now and may be again without a change to Docket, by the code of its error. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the quota on the disk is used up'],
  ['EROFS', 'the disk is read-only'],
  ['EIO', 'the disk reports an input/output error'],
  ['ESTALE', 'the network share is stale'],
  ['ENODEV', 'the disk is gone'],
  ['EMFILE', 'the process has too many open files'],
  ['ENFILE', 'the machine has too many open files'],
]);

export interface DiskFault {
  /** Of the system, e.g. `ENOSPC`. */
  readonly code: string;
  readonly words: string;
}

/** The fault of a disk that was thrown, or that caused what was thrown; undefined for anything else. */
export function diskFaultOf(thrown: unknown): DiskFault | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const code = 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';
  const words = WORDS.get(code);
  return words === undefined ? diskFaultOf(thrown.cause) : { code, words };
}
