/** A finished file of a run, complete on disk under its final name. */
export interface Artifact {
  /** File name, safe on every system: no separators, no reserved names, at most 120 characters. */
  readonly name: string;
  readonly format: 'xlsx' | 'csv' | 'html' | 'text';
  readonly mediaType: string;
  /** Absolute path. */
  readonly path: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

/** The e-mail's body, the same for every recipient; made beside the files and archived with them. */
export interface MailBody {
  readonly html: string;
  readonly text: string;
}
