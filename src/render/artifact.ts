/**
 * `schema` says what the columns of the CSV file beside it are; `zip` holds a run's CSV files and their schemas for
 * e-mail, and is no file of its own.
 */
export const ARTIFACT_FORMATS = ['xlsx', 'csv', 'schema', 'zip', 'html', 'text'] as const;
export type ArtifactFormat = (typeof ARTIFACT_FORMATS)[number];

/** A finished file of a run, complete on disk under its final name. */
export interface Artifact {
  /** File name, safe on every system: no separators, no reserved names, at most 120 characters. */
  readonly name: string;
  readonly format: ArtifactFormat;
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
  schema: 'application/json',
  zip: 'application/zip',
  html: 'text/html; charset=utf-8',
  text: 'text/plain; charset=utf-8',
} as const satisfies Record<ArtifactFormat, string>;

/** What an e-mail carries that attaches these formats: CSV files with their schemas, as one zip where there is one. */
export function mailFiles(artifacts: readonly Artifact[], formats: readonly ArtifactFormat[]): readonly Artifact[] {
  const zipped = artifacts.some(({ format }) => format === 'zip');
  const data: readonly ArtifactFormat[] = !formats.includes('csv') ? [] : zipped ? ['zip'] : ['csv', 'schema'];
  return artifacts.filter(({ format }) => (format !== 'csv' && formats.includes(format)) || data.includes(format));
}

/** What a folder gets: each file by itself, and no second time in a zip. */
export const folderFiles = (artifacts: readonly Artifact[]): readonly Artifact[] =>
  artifacts.filter(({ format }) => format !== 'zip');

/** A picture that the HTML of a mail shows as `cid:<cid>`. */
export interface Picture {
  /** Content-ID without brackets, `name@domain`; the same for the same picture. */
  readonly cid: string;
  /** File name, `mail-<section>.png`. */
  readonly name: string;
  /** PNG. */
  readonly bytes: Uint8Array;
}

/** The e-mail's body, the same for every recipient; made beside the files and archived with them. */
export interface MailBody {
  readonly html: string;
  readonly text: string;
  /** Exactly those that the HTML shows. */
  readonly pictures: readonly Picture[];
}
