/** What `docket archive verify` says of a file, under a code that does not change. */
export interface ArchiveFinding {
  /** E.g. `file.changed`; docs/archive.md lists all of them. */
  readonly code: string;
  /** The file, by its name in the run's folder or, of the archive itself, from its root. */
  readonly path: string;
  /** For people; begins with the file. */
  readonly text: string;
  /** Something to know, which is no fault. */
  readonly note?: true;
}

export const fault = (code: string, path: string, what: string): ArchiveFinding => ({
  code,
  path,
  text: `${path} ${what}`,
});

export const remark = (code: string, path: string, what: string): ArchiveFinding => ({
  ...fault(code, path, what),
  note: true,
});
