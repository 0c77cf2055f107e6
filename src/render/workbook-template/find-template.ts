import { join } from 'node:path';
import { DocketError } from '../../base/error.ts';
import { findOrgFile } from '../../definitions/load/org-file.ts';

/** Where the template of an output is. */
export interface FoundTemplate {
  /** Real path. */
  readonly path: string;
  /** As messages name it: beside `org.yaml`. */
  readonly file: string;
  /** As the definition names it. */
  readonly name: string;
}

/**
 * The template that an output names. It may have changed since the definitions were loaded, so it is looked for again, and
 * may be nowhere but in the organization's folder. Throws `template.invalid`.
 *
 * @param orgFolder the folder of `org.yaml`; undefined: this process has no definitions
 */
export async function findTemplate(orgFolder: string | undefined, name: string): Promise<FoundTemplate> {
  const file = orgFolder === undefined ? name : join(orgFolder, name);
  const found =
    orgFolder === undefined
      ? { expected: 'a folder of definitions (DOCKET_JOBS)', got: 'none', next: 'set DOCKET_JOBS' }
      : await findOrgFile(orgFolder, name);
  if (!('expected' in found)) return { path: found.path, file, name };
  const { expected, got, next = 'correct the path' } = found;
  throw new DocketError('template.invalid', `The workbook template ${name} cannot be used.`, {
    where: file,
    expected,
    ...(got === undefined ? {} : { got }),
    next: `${next.charAt(0).toUpperCase()}${next.slice(1)}.`,
  });
}
