/** Why a file is not given its name. */
export const otherBytes = (path: string): string =>
  `${path} is there with other bytes; remove it, make the path differ, or write "overwrite: true".`;

/** Somebody's file has the name. */
export class Taken extends Error {
  override readonly name = 'Taken';
}
