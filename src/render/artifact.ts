/** A file that belongs to an output but is not its data: a description of the data, or a bundle of all its files. */
export interface ArtifactPart {
  /** The format of that output. */
  readonly of: string;
  /** `companion` goes wherever its output goes. `bundle` replaces the output's files in e-mails and goes nowhere else. */
  readonly role: 'companion' | 'bundle';
}

/** What a run filled in the template of a workbook, for the manifest and the page. */
export interface FilledWorkbook {
  /** Its name in the definition. */
  readonly template: string;
  /** SHA-256 (hex) of the template. */
  readonly sha256: string;
  /** SHA-256 (hex) of the file that the definition was loaded with, if the file has changed since. */
  readonly defined_sha256?: string;
  readonly tables: readonly FilledTable[];
  readonly names: readonly FilledName[];
}

export interface FilledTable {
  readonly name: string;
  readonly sheet: string;
  /** The range after filling, with header and totals rows: `B4:F16`. */
  readonly range: string;
  readonly section: string;
  /** Rows of data. 0: the section has none, and one empty row is left. */
  readonly rows: number;
  /**
   * One for each column of the table. `bound`: the figures it got, e.g. `onboarding.profiles.created.previous_period`;
   * null: it kept its own content.
   */
  readonly columns: readonly { readonly header: string; readonly bound: string | null }[];
}

export interface FilledName {
  readonly name: string;
  /** E.g. `Board!B4`. */
  readonly cell: string;
}

/** A finished file of a run, complete on disk under its final name. */
export interface Artifact {
  /** File name, safe on every system: no separators, no reserved names, at most 120 characters. */
  readonly name: string;
  /** As in the manifest: the format of the output, or of the part. */
  readonly format: string;
  readonly mediaType: string;
  /** Absent for the output's own files. */
  readonly part?: ArtifactPart;
  /** Absolute path. */
  readonly path: string;
  readonly bytes: number;
  /** SHA-256 (hex). */
  readonly sha256: string;
  /** What was filled in a template; absent if the file is not made from one. */
  readonly workbook?: FilledWorkbook;
}

/** What an artifact's format implies. */
export type ArtifactKind = Pick<Artifact, 'mediaType' | 'part'>;

/**
 * The artifact formats of Docket 0.1. For these, manifests store media type and part only if they differ. Other formats
 * always store them.
 */
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

/** What the manifest stores about the kind of a file. */
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

/** The files that an e-mail with these output formats attaches: those of each output, or its bundle if there is one. */
export function mailAttachments(artifacts: readonly Artifact[], formats: readonly string[]): readonly Artifact[] {
  const bundled = new Set(artifacts.flatMap(({ part }) => (part?.role === 'bundle' ? [part.of] : [])));
  return artifacts.filter((artifact) => {
    const format = outputFormatOf(artifact);
    return formats.includes(format) && bundled.has(format) === (artifact.part?.role === 'bundle');
  });
}

/** All files except bundles, for targets that store each file. */
export const individualFiles = (artifacts: readonly Artifact[]): readonly Artifact[] =>
  artifacts.filter(({ part }) => part?.role !== 'bundle');

/** An image that the HTML of an e-mail refers to as `cid:<cid>`. */
export interface InlineImage {
  /** Content-ID without brackets, `name@domain`. The same image always has the same one. */
  readonly cid: string;
  /** File name, `mail-<section>.png`. */
  readonly name: string;
  /** PNG. */
  readonly bytes: Uint8Array;
}

/** How much of a report an e-mail shows: everything, only tiles and headlines, or only that the pack is ready. */
export const MAIL_BODIES = ['full', 'summary', 'notice'] as const;

/**
 * The bodies that a run may have. `full-lists` is the full body with the rows of lists. The names are part of file
 * names in the archive.
 */
export const MAIL_BODY_NAMES = [...MAIL_BODIES, 'full-lists'] as const;
export type MailBodyName = (typeof MAIL_BODY_NAMES)[number];

/** A body of a report's e-mail, the same for every recipient of the deliveries that use it. */
export interface MailBody {
  readonly html: string;
  readonly text: string;
  /** The images that the HTML refers to. */
  readonly pictures: readonly InlineImage[];
}

export interface NamedMailBody extends MailBody {
  readonly body: MailBodyName;
}

/** All bodies that the deliveries of a run need: the first, and the others. */
export interface RunMail extends MailBody {
  /** Absent in runs of older versions, which had one body. */
  readonly body?: MailBodyName;
  readonly others?: readonly NamedMailBody[];
}

/** All bodies. A body without a name, from a run of an older version, counts as `full`. */
export const mailBodies = ({ others = [], body = 'full', html, text, pictures }: RunMail): readonly NamedMailBody[] => [
  { body, html, text, pictures },
  ...others,
];

/** Finds the body for a delivery. A run of an older version has only one. Undefined: the run has no such body. */
export const findMailBody = (mail: RunMail, body: MailBodyName): MailBody | undefined =>
  mail.body === undefined ? mail : mailBodies(mail).find((each) => each.body === body);

/** The HTML body as a standalone page for browsers, which do not resolve `cid:` references. */
export const inlineImages = ({ html, pictures }: MailBody): string =>
  pictures.reduce(
    (page, { cid, bytes }) =>
      page.replaceAll(`cid:${cid}`, `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`),
    html,
  );
