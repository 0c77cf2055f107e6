import { DocketError } from '../base/error.ts';
import { type Logo, readLogo } from '../definitions/load/logo.ts';

/**
 * Reads the organization's logo again: the file may have changed since the definitions were checked. Undefined without one.
 * Throws `render.failed`.
 */
export async function readCurrentLogo(path: string | undefined): Promise<Logo | undefined> {
  if (path === undefined) return undefined;
  const logo = await readLogo(path);
  if (!('expected' in logo)) return logo;
  const { expected, got, next } = logo;
  throw new DocketError('render.failed', 'The logo of the organization cannot be used.', {
    where: path,
    expected,
    ...(got === undefined ? {} : { got }),
    next: `Correct the logo file: ${next}.`,
  });
}
