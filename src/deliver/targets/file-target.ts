import { randomBytes } from 'node:crypto';
import type { Artifact } from '../../render/artifact.ts';

/** Describes the field `overwrite` of targets that write files. */
export const OVERWRITE_DESCRIPTION =
  'true: replaces a file of that name with other content; otherwise the delivery is refused.';

/** A filled template, or undefined when it cannot be filled, which `send` then refuses with the reason. */
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

/** Another file has the name already. */
export class FileConflictError extends Error {
  override readonly name = 'FileConflictError';
}

/** A name for a file that a probe writes and removes. */
export const probeName = (): string => `.docket-probe-${randomBytes(8).toString('hex')}.tmp`;
