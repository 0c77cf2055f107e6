import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isErrno } from '../../../base/errno.ts';
import { DocketError } from '../../../base/error.ts';
import type { TypstFile } from './typst/typst-job.ts';

/** The main file. `pack.json` and the logo are beside it. */
export const MAIN_TEMPLATE = 'pack.typ';
/** The folder of PDF templates within the templates' folder. */
export const PACK_FOLDER = 'pack';
const MAX_FILES = 100;
const MAX_BYTES = 10 * 1024 * 1024;
const FONT_FILE = /\.(ttf|otf|ttc|otc)$/i;

/** The built-in templates. The path is the same from `src/` and `dist/`. */
const BUILT_IN_TEMPLATES = fileURLToPath(new URL('../../../../templates', import.meta.url));

/** A template, or a file that it reads. */
export interface TemplateFile extends TypstFile {
  /** On disk. */
  readonly file: string;
}

export interface PackTemplates {
  readonly files: readonly TemplateFile[];
  /** Fonts in the organization's folder. */
  readonly fonts: readonly Uint8Array[];
  /** Whether any file comes from the organization. */
  readonly custom: boolean;
}

/** Reads every file below a folder, by its path with `/`. Links are only followed within the folder. */
async function readFolder(folder: string): Promise<readonly TemplateFile[]> {
  const root = await realpath(folder);
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files: TemplateFile[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const path = relative(root, join(entry.parentPath, entry.name)).split(sep).join('/');
    // Kubernetes volumes keep their versions in hidden folders and link to them.
    if (path.split('/').some((name) => name.startsWith('.'))) continue;
    if (!entry.isFile() && !entry.isSymbolicLink()) continue;
    const file = join(root, path);
    const real = await realpath(file);
    if (!real.startsWith(root + sep)) throw outsideFolder(file);
    const found = await stat(real);
    if (!found.isFile()) continue;
    bytes += found.size;
    if (files.length >= MAX_FILES || bytes > MAX_BYTES) throw tooLarge(folder);
    files.push({ path, file: join(folder, path), bytes: await readFile(real) });
  }
  return files.sort((one, other) => (one.path < other.path ? -1 : 1));
}

/**
 * The templates of a pack: the built-in ones, unless the organization's folder has a file with the same path. Throws
 * `template.invalid`.
 * @param folder the value of `DOCKET_TEMPLATES`
 */
export async function readPackTemplates(folder: string | undefined): Promise<PackTemplates> {
  const builtIn = await readFolder(join(BUILT_IN_TEMPLATES, PACK_FOLDER));
  const own = folder === undefined ? [] : await readOwnTemplates(folder);
  const byPath = new Map([...builtIn, ...own].map((file) => [file.path, file]));
  const files = [...byPath.values()];
  return {
    files: files.filter(({ path }) => !FONT_FILE.test(path)),
    fonts: files.filter(({ path }) => FONT_FILE.test(path)).map(({ bytes }) => bytes),
    custom: own.length > 0,
  };
}

/** Reads the PDF templates in a folder; empty if it has none. Throws `template.invalid`. */
export const readOwnTemplates = (folder: string): Promise<readonly TemplateFile[]> =>
  readFolder(join(folder, PACK_FOLDER)).catch(noFolder);

function noFolder(error: unknown): readonly TemplateFile[] {
  if (isErrno(error, 'ENOENT')) return [];
  throw error;
}

const outsideFolder = (where: string): DocketError =>
  new DocketError('template.invalid', 'A template of the PDF is a link to a file outside its folder.', {
    where,
    expected: 'files within the folder',
    next: 'Copy the file there.',
  });

const tooLarge = (where: string): DocketError =>
  new DocketError('template.invalid', 'The folder of the PDF templates is too large.', {
    where,
    expected: `at most ${MAX_FILES} files and ${MAX_BYTES / 1024 / 1024} MB`,
    next: 'Remove what the templates do not use.',
  });
