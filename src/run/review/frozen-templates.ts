import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, posix } from 'node:path';
import { isErrno } from '../../base/errno.ts';
import { readLogo } from '../../definitions/load/logo.ts';
import { findOutputFile } from '../../definitions/load/org-file.ts';
import type { FormatSchema } from '../../definitions/schema/kinds.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import { outputFiles } from '../../definitions/schema/outputs.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { TEMPLATES } from '../../render/email/template.ts';
import { PACK_FOLDER, readOwnTemplates } from '../../render/formats/pdf/pack-templates.ts';
import type { OutputFileBytes } from '../corrections/corrected-edition.ts';

/** A file, besides the data, that rendering reads. Its path, with `/`, is relative to a folder for these files. */
export interface RenderFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Where rendering finds its files. */
export interface RenderPaths {
  /** Undefined: only the built-in templates. */
  readonly templates: string | undefined;
  readonly logo: string | undefined;
  /** The folder of `org.yaml`, where outputs find their files. Undefined: there is none. */
  readonly orgFolder?: string | undefined;
}

/** Where rendering finds its files at present. */
export const currentPaths = (
  { org }: Pick<Definition, 'org'>,
  { logo }: Pick<OrgSettings, 'logo'>,
  {
    templates,
    definitionsFolder,
  }: { readonly templates: string | undefined; readonly definitionsFolder?: string | undefined },
): RenderPaths => ({
  templates,
  logo,
  orgFolder: definitionsFolder === undefined ? undefined : join(definitionsFolder, org),
});

const TEMPLATES_FOLDER = 'templates';
const LOGO_FOLDER = 'logo';
const ORG_FOLDER = 'org';

/**
 * Reads the current templates, logo and files that outputs name. Leaves out an unusable logo, as rendering does. Throws
 * `template.invalid` for an unusable file of an output.
 *
 * @param replaced files of the edition that a corrected one replaces, used instead of the current files of outputs
 */
export async function readRenderFiles(
  { templates, logo, orgFolder }: RenderPaths,
  { outputs }: Pick<Definition, 'outputs'>,
  formats: readonly FormatSchema[],
  replaced: readonly OutputFileBytes[] = [],
): Promise<readonly RenderFile[]> {
  const files: RenderFile[] = [];
  for (const name of templates === undefined ? [] : Object.values(TEMPLATES)) {
    const bytes = await ifPresent(readFile(join(templates ?? '', 'email', name)));
    if (bytes !== undefined) files.push({ path: `${TEMPLATES_FOLDER}/email/${name}`, bytes });
  }
  if (templates !== undefined && outputs.some(({ format }) => format === 'pdf')) {
    for (const { path, bytes } of await readOwnTemplates(templates))
      files.push({ path: `${TEMPLATES_FOLDER}/${PACK_FOLDER}/${path}`, bytes: Buffer.from(bytes) });
  }
  const image = logo === undefined ? undefined : await readLogo(logo);
  if (logo !== undefined && image !== undefined && !('expected' in image))
    files.push({ path: `${LOGO_FOLDER}/${basename(logo)}`, bytes: image.bytes });
  return [...files, ...orgFiles(replaced.length > 0 ? replaced : await readOutputFiles(orgFolder, outputs, formats))];
}

/** Reads the current files from which outputs are made. Throws `template.invalid` for an unusable one. */
export async function readOutputFiles(
  orgFolder: string | undefined,
  outputs: Definition['outputs'],
  formats: readonly FormatSchema[],
): Promise<readonly OutputFileBytes[]> {
  const files: OutputFileBytes[] = [];
  const named = outputs.flatMap((output) => outputFiles(output, formats));
  for (const each of new Map(named.map((output) => [output.file, output])).values()) {
    const { path, name } = await findOutputFile(orgFolder, each);
    files.push({ name, bytes: await readFile(path) });
  }
  return files;
}

/** The paths at which `writeRenderFiles` puts files that outputs name. */
const orgFiles = (files: readonly OutputFileBytes[]): readonly RenderFile[] =>
  files.map(({ name, bytes }) => ({ path: posix.join(ORG_FOLDER, name), bytes }));

/** Writes the files below `folder`. @returns their paths. The logo has a path even if it was left out */
export async function writeRenderFiles(
  files: readonly RenderFile[],
  folder: string,
  logo: string | undefined,
): Promise<RenderPaths> {
  for (const { path, bytes } of files) {
    const steps = path.split('/');
    if (steps.some((step) => step === '' || step === '.' || step === '..'))
      throw new Error(`${path} leaves its folder`);
    const file = join(folder, ...steps);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, bytes, { mode: 0o600 });
  }
  return {
    templates: files.some(({ path }) => path.startsWith(`${TEMPLATES_FOLDER}/`))
      ? join(folder, TEMPLATES_FOLDER)
      : undefined,
    logo: logo === undefined ? undefined : join(folder, LOGO_FOLDER, basename(logo)),
    orgFolder: join(folder, ORG_FOLDER),
  };
}

/** Paths that use these files instead of the outputs' current ones. Without files, returns the paths unchanged. */
export async function withReplacedFiles(
  current: RenderPaths,
  files: readonly OutputFileBytes[],
  folder: string,
): Promise<RenderPaths> {
  if (files.length === 0) return current;
  const { orgFolder } = await writeRenderFiles(orgFiles(files), folder, undefined);
  return { ...current, orgFolder };
}

async function ifPresent<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}
