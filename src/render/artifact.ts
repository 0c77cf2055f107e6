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

/** The media type of each format: in e-mails, in answers, and of a file that is read back from the archive. */
export const MEDIA_TYPES = {
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  csv: 'text/csv; charset=utf-8',
  html: 'text/html; charset=utf-8',
  text: 'text/plain; charset=utf-8',
} as const satisfies Record<Artifact['format'], string>;

/** The e-mail's body, the same for every recipient; made beside the files and archived with them. */
export interface MailBody {
  readonly html: string;
  readonly text: string;
}
