import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { DocketError, errorMessage } from '../base/error.ts';
import { toDiskError } from '../base/files/disk-error.ts';
import { sha256 } from '../base/sha256.ts';
import type { Output } from '../definitions/schema/kinds.ts';
import type { Dataset } from '../fetch/dataset.ts';
import type { Artifact } from './artifact.ts';
import { assertDistinctNames, nameEnding, renderFileName } from './file-names.ts';
import { compressSchema } from './formats/compress-schema.ts';
import { writeZip } from './formats/csv/zip.ts';
import { type Format, type FormatContext, type PlannedFile, resolveFormat } from './formats/format.ts';

export interface RenderOptions extends Omit<FormatContext, 'variables' | 'secrets' | 'outputs'> {
  /** The folder in which the files are created. It must exist. */
  readonly folder: string;
  /** By output format. */
  readonly secrets?: Readonly<Record<string, FormatContext['secrets']>> | undefined;
  /** The formats that an e-mail attaches. Their files are bundled if the format supports it. */
  readonly bundled?: readonly string[] | undefined;
}

/** Plans the files of all outputs, bundles last. */
async function planFiles(
  dataset: Dataset,
  outputs: readonly Output[],
  formats: readonly Format[],
  { folder: _, secrets = {}, bundled = [], ...options }: RenderOptions,
): Promise<PlannedFile[]> {
  const { period, org, report, title, desk } = dataset;
  const ending = nameEnding(dataset, options.locale);
  const files: PlannedFile[] = [];
  const bundles: PlannedFile[] = [];
  for (const output of outputs) {
    const { format, spec } = resolveFormat(output, formats);
    const context = {
      ...options,
      variables: {
        period,
        org,
        report,
        title,
        ...(desk === undefined ? {} : { split: desk }),
        ...(ending === '' ? {} : { ending }),
      },
      outputs: outputs.map((each) => each.format),
      secrets: secrets[output.format] ?? {},
    };
    const planned = compressFiles(await format.render(dataset, spec, context), output, context);
    files.push(...planned);
    const bundle = bundled.includes(output.format) ? await format.bundle?.(planned, context) : undefined;
    if (bundle !== undefined) bundles.push(bundle);
  }
  return [...files, ...bundles];
}

/** A file up to this size is read at once, which is faster than a stream. */
const SMALL_FILE_BYTES = 64 * 1024;

async function fileSha256(path: string, bytes: number): Promise<string> {
  if (bytes <= SMALL_FILE_BYTES) return sha256(readFileSync(path));
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/**
 * Uses synchronous calls where nothing waits for the disk: the render thread has nothing else to do, and they cost a
 * tenth there.
 */
async function createArtifact(file: PlannedFile, folder: string, earlier: readonly Artifact[]): Promise<Artifact> {
  const temporary = join(folder, `.docket-${earlier.length}.part`);
  const path = join(folder, file.name);
  try {
    rmSync(temporary, { force: true });
    const workbook = await file.write(temporary, earlier);
    const { name, format, mediaType, part } = file;
    const bytes = statSync(temporary).size;
    const hash = await fileSha256(temporary, bytes);
    renameSync(temporary, path);
    const filled = typeof workbook === 'object' ? { workbook } : {};
    return { name, format, mediaType, ...(part === undefined ? {} : { part }), path, bytes, sha256: hash, ...filled };
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/**
 * Creates the files of a report's outputs. A file gets its name only when it is complete. After a failure, the files
 * created before are removed. Throws `template.invalid`, `disk.unavailable` or `render.failed`, or the reason of
 * `signal` when it is aborted.
 */
export async function renderFiles(
  dataset: Dataset,
  outputs: readonly Output[],
  formats: readonly Format[],
  options: RenderOptions,
): Promise<Artifact[]> {
  const folder = resolve(options.folder);
  const files = await planFiles(dataset, outputs, formats, options);
  assertDistinctNames(files);
  const artifacts: Artifact[] = [];
  try {
    for (const file of files) {
      options.signal.throwIfAborted();
      artifacts.push(await createArtifact(file, folder, artifacts));
    }
    return artifacts;
  } catch (error) {
    await Promise.all(artifacts.map(({ path }) => rm(path, { force: true })));
    options.signal.throwIfAborted();
    const failure = await toDiskError(error, folder);
    if (failure instanceof DocketError) throw failure;
    const what = `The files of ${dataset.org}/${dataset.report} could not be written`;
    throw new DocketError('render.failed', `${what}: ${errorMessage(error)}`, {
      where: folder,
      next: 'Check the folder and its permissions; if both are fine, report this as a defect.',
      cause: error,
    });
  }
}

/** Writes files to a folder beside `path`, and removes the folder afterwards. */
async function withFiles(
  files: readonly PlannedFile[],
  path: string,
  earlier: readonly Artifact[],
  use: (written: readonly { readonly name: string; readonly path: string }[]) => Promise<void>,
): Promise<void> {
  const folder = `${path}.parts`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  try {
    const written = files.map(({ name }) => ({ name, path: join(folder, name) }));
    for (const [index, file] of files.entries()) await file.write(written[index]?.path ?? '', earlier);
    await use(written);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const gzipped = (file: PlannedFile, signal: AbortSignal): PlannedFile => ({
  ...file,
  name: `${file.name}.gz`,
  mediaType: 'application/gzip',
  write: (path, earlier) =>
    withFiles([file], path, earlier, async ([plain]) => {
      if (plain === undefined) return;
      // The gzip header has neither name nor time, so the same rows give the same bytes.
      await pipeline(createReadStream(plain.path), createGzip(), createWriteStream(path, { flags: 'wx' }), { signal });
    }),
});

/**
 * Compresses the files of an output as its `compress` says. Gzip leaves files that describe others (`part`) readable. A
 * zip contains all files, and its entries have the day of `madeAt`.
 */
function compressFiles(
  files: readonly PlannedFile[],
  output: Output,
  { variables, madeAt, signal }: FormatContext,
): readonly PlannedFile[] {
  const compress = compressSchema.parse(output.compress);
  if (compress === undefined || files.length === 0) return files;
  if (compress === 'gzip') return files.map((file) => (file.part === undefined ? gzipped(file, signal) : file));
  return [
    {
      name: renderFileName('{{ title }} {{ period.label }}', variables, `.${output.format}.zip`),
      format: output.format,
      mediaType: 'application/zip',
      label: `the zip of the ${output.format.toUpperCase()} files`,
      write: (path, earlier) => withFiles(files, path, earlier, (written) => writeZip(path, written, madeAt, signal)),
    },
  ];
}
