/** Why a file is not given its name. */
export const fileConflictDetail = (path: string): string =>
  `${path} is there with other bytes; remove it, make the path differ, or write "overwrite: true".`;

/** Somebody's file has the name. */
export class FileConflictError extends Error {
  override readonly name = 'Taken';
}
