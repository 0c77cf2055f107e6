/** One result of `docket archive verify`. Codes are stable. */
export interface ArchiveFinding {
  /** E.g. `file.changed`; docs/archive.md lists all of them. */
  readonly code: string;
  /** Relative to the run's folder or, for files of the archive itself, to its root. */
  readonly path: string;
  /** A sentence that starts with the path. */
  readonly text: string;
  /** Present for information that is no problem. */
  readonly note?: true;
}

export const errorFinding = (code: string, path: string, problem: string): ArchiveFinding => ({
  code,
  path,
  text: `${path} ${problem}`,
});

export const noteFinding = (code: string, path: string, fact: string): ArchiveFinding => ({
  ...errorFinding(code, path, fact),
  note: true,
});
