/** A file that belongs to the output of a format without being its data: a description of the data, or all files in one. */
export interface ArtifactPart {
  /** The output's format. */
  readonly of: string;
  /** `companion` goes wherever its output goes. `bundle` replaces the output's files in e-mails and goes nowhere else. */
  readonly role: 'companion' | 'bundle';
}

/** What of a template was filled, for the manifest and the page. */
export interface FilledWorkbook {
  /** As the definition names it. */
  readonly template: string;
  /** SHA-256 (hex) of the template. */
  readonly sha256: string;
  /** SHA-256 (hex) of the file that the definition was loaded with, where it was another: it has changed since. */
  readonly defined_sha256?: string;
  readonly tables: readonly FilledTable[];
  readonly names: readonly FilledName[];
}

export interface FilledTable {
  readonly name: string;
  readonly sheet: string;
  /** After filling, with header and totals rows: `B4:F16`. */
  readonly range: string;
  readonly section: string;
  /** Rows of data; 0: the section has none, and one empty row is left. */
  readonly rows: number;
  /** One for each column of the table. `bound`: what it got, e.g. `onboarding.profiles.created.previous_period`; null: its own. */
  readonly columns: readonly { readonly header: string; readonly bound: string | null }[];
}

export interface FilledName {
  readonly name: string;
  /** `Board!B4`. */
  readonly cell: string;
}

/** A finished file of a run, complete on disk under its final name. */
export interface Artifact {
  /** File name, safe on every system: no separators, no reserved names, at most 120 characters. */
  readonly name: string;
  /** As in the manifest: the output's format, or that of the part. */
  readonly format: string;
  readonly mediaType: string;
  /** Absent for the output's own files. */
  readonly part?: ArtifactPart;
  /** Absolute path. */
  readonly path: string;
  readonly bytes: number;
  /** SHA-256 (hex). */
  readonly sha256: string;
  /** What of a template was filled; absent where the file is not made from one. */
  readonly workbook?: FilledWorkbook;
}

/** What an artifact's format implies. */
export type ArtifactKind = Pick<Artifact, 'mediaType' | 'part'>;

/** The artifact formats of Docket 0.1. Manifests store their media type and part only where they differ, or for other formats. */
const IMPLIED_KINDS: Readonly<Record<string, ArtifactKind>> = {
  xlsx: { mediaType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet' },
  csv: { mediaType: 'text/csv; charset=utf-8' },
  schema: { mediaType: 'application/json', part: { of: 'csv', role: 'companion' } },
  zip: { mediaType: 'application/zip', part: { of: 'csv', role: 'bundle' } },
};

/** The fields of a manifest's entry that describe the kind of a file. */
export interface StoredKind {
  readonly format: string;
  readonly media_type?: string | undefined;
  readonly part?: ArtifactPart | undefined;
}

/** The kind of an archived file. */
export function artifactKind({ format, media_type: mediaType, part }: StoredKind): ArtifactKind {
  const implied = IMPLIED_KINDS[format];
  if (implied !== undefined) {
    return { ...implied, ...(mediaType === undefined ? {} : { mediaType }), ...(part === undefined ? {} : { part }) };
  }
  return { mediaType: mediaType ?? 'application/octet-stream', ...(part === undefined ? {} : { part }) };
}

/** What a manifest stores about the kind of a file. */
export const storedKind = ({ format, mediaType, part }: Artifact): StoredKind => {
  const implied = Object.hasOwn(IMPLIED_KINDS, format) ? IMPLIED_KINDS[format] : undefined;
  if (implied !== undefined) {
    const ofAnother = part !== undefined && part.of !== implied.part?.of;
    return {
      format,
      ...(mediaType === implied.mediaType ? {} : { media_type: mediaType }),
      ...(ofAnother ? { part } : {}),
    };
  }
  return { format, media_type: mediaType, ...(part === undefined ? {} : { part }) };
};

/** The media types of an archived e-mail's two bodies. */
export const MAIL_MEDIA_TYPES = { html: 'text/html; charset=utf-8', text: 'text/plain; charset=utf-8' } as const;

/** The format of the output that an artifact belongs to. */
export const outputFormatOf = ({ format, part }: Artifact): string => part?.of ?? format;

/** The files of an e-mail that attaches these output formats: those of each output, or its bundle if there is one. */
export function mailAttachments(artifacts: readonly Artifact[], formats: readonly string[]): readonly Artifact[] {
  const bundled = new Set(artifacts.flatMap(({ part }) => (part?.role === 'bundle' ? [part.of] : [])));
  return artifacts.filter((artifact) => {
    const format = outputFormatOf(artifact);
    return formats.includes(format) && bundled.has(format) === (artifact.part?.role === 'bundle');
  });
}

/** The files without bundles, for targets that store each file. */
export const individualFiles = (artifacts: readonly Artifact[]): readonly Artifact[] =>
  artifacts.filter(({ part }) => part?.role !== 'bundle');

/** An image that the HTML of an e-mail refers to as `cid:<cid>`. */
export interface InlineImage {
  /** Content-ID without brackets, `name@domain`; the same for the same image. */
  readonly cid: string;
  /** File name, `mail-<section>.png`. */
  readonly name: string;
  /** PNG. */
  readonly bytes: Uint8Array;
}

/** How much of a report an e-mail shows: everything, tiles and headlines, or that the pack is ready. */
export const MAIL_BODIES = ['full', 'summary', 'notice'] as const;

/** The bodies that a run may have; `full-lists` is the full one with the rows of lists. Part of file names in the archive. */
export const MAIL_BODY_NAMES = [...MAIL_BODIES, 'full-lists'] as const;
export type MailBodyName = (typeof MAIL_BODY_NAMES)[number];

/** A body of a report's e-mail, the same for every recipient of the deliveries that ask for it. */
export interface MailBody {
  readonly html: string;
  readonly text: string;
  /** The images that the HTML refers to. */
  readonly pictures: readonly InlineImage[];
}

export interface NamedMailBody extends MailBody {
  readonly body: MailBodyName;
}

/** The bodies that the deliveries of a run need: the first one, and the others. */
export interface RunMail extends MailBody {
  /** Absent in runs of versions that had one body. */
  readonly body?: MailBodyName;
  readonly others?: readonly NamedMailBody[];
}

/** All bodies; one without a name, of a run of an older version, counts as `full`. */
export const mailBodies = ({ others = [], body = 'full', html, text, pictures }: RunMail): readonly NamedMailBody[] => [
  { body, html, text, pictures },
  ...others,
];

/** The body of a delivery; that of an older version's run is the only one. Undefined: the run has no such body. */
export const mailBodyOf = (mail: RunMail, body: MailBodyName): MailBody | undefined =>
  mail.body === undefined ? mail : mailBodies(mail).find((each) => each.body === body);

/** The HTML body as a single page for browsers, which do not resolve `cid:` references. */
export const inlineImages = ({ html, pictures }: MailBody): string =>
  pictures.reduce(
    (page, { cid, bytes }) =>
      page.replaceAll(`cid:${cid}`, `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`),
    html,
  );
