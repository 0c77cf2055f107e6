import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { DocketError } from '../../base/error.ts';
import { type Artifact, individualFiles } from '../../render/artifact.ts';

/** Describes the field `overwrite` of targets that write files. */
export const OVERWRITE_DESCRIPTION =
  'true: replaces a file of that name with other content; otherwise the delivery is refused.';

const COMPANIONS = ['totals', 'schema'] as const;

/** The field `files`, for targets that write files. @param formats the formats that `outputs` may have */
export const filesSchema = (formats: readonly string[]) =>
  z
    .array(z.enum([...formats, ...COMPANIONS]))
    .min(1)
    .max(formats.length + COMPANIONS.length)
    .optional()
    .describe(
      'Which files are written: formats of the outputs, `totals` (the files of totals) and `schema` (the .schema.json files). Default: all.',
    );

/** The files of a run that a target with `files` writes. */
export const chosenFiles = (
  artifacts: readonly Artifact[],
  { files }: { readonly files?: readonly string[] | undefined },
): readonly Artifact[] =>
  individualFiles(artifacts).filter((artifact) => files?.includes(classifyFile(artifact)) ?? true);

/**
 * The files of a run that a target writes, for a delivery. Throws `deliver.target_refused` if the run made none of
 * them.
 */
export function requireFiles(
  artifacts: readonly Artifact[],
  spec: { readonly files?: readonly string[] | undefined },
): readonly Artifact[] {
  const chosen = chosenFiles(artifacts, spec);
  if (chosen.length > 0 || spec.files === undefined) return chosen;
  throw new DocketError('deliver.target_refused', 'The run created none of the files to write.', {
    expected: `one of ${spec.files.join(', ')}`,
    got: artifacts.map(({ name }) => name).join(', ') || 'no files',
    next: 'Correct "files" of the delivery.',
  });
}

/** Formats that have separate files of totals. */
const WITH_TOTALS = ['csv', 'jsonl', 'parquet'];

/** The name of a file's kind in the field `files`. */
const classifyFile = (artifact: Artifact): string =>
  artifact.part === undefined && /\.totals\.(csv|jsonl|parquet)(\.gz)?$/.test(artifact.name)
    ? 'totals'
    : artifact.format;

/** The formats of the files in `files`, for `describe`. */
export const shownFormats = ({
  files,
}: {
  readonly files?: readonly string[] | undefined;
}): readonly string[] | 'all' =>
  files === undefined ? 'all' : files.flatMap((kind) => (kind === 'totals' ? WITH_TOTALS : kind));

/** A filled template; undefined if it cannot be filled, in which case `send` refuses it with the reason. */
export function fillOrUndefined<T>(fill: () => T): T | undefined {
  try {
    return fill();
  } catch {
    return undefined;
  }
}

/** The locations of files in one folder, by file name. */
export const filePaths = (folder: string, artifacts: readonly Artifact[]): ReadonlyMap<string, string> =>
  new Map(artifacts.map(({ name }) => [name, `${folder.replace(/\/$/, '')}/${name}`]));

export const fileCount = (count: number): string => `${count} ${count === 1 ? 'file' : 'files'}`;

export const fileConflictDetail = (path: string): string =>
  `${path} already has other content; remove it, make the path differ, or write "overwrite: true".`;

/** Another file already has this name. */
export class FileConflictError extends Error {
  override readonly name = 'FileConflictError';
}

/** Name of the file that a probe writes and removes. */
export const probeName = (): string => `.docket-probe-${randomBytes(8).toString('hex')}.tmp`;
