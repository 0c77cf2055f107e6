import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { DocketError, errorMessage } from '../base/error.ts';
import { toDiskError } from '../base/files/disk-error.ts';
import { sha256 } from '../base/sha256.ts';
import type { Output } from '../definitions/schema/kinds.ts';
import type { Dataset } from '../fetch/dataset.ts';
import type { Artifact } from './artifact.ts';
import { assertDistinctNames, nameEnding } from './file-names.ts';
import { compressFiles } from './formats/compress.ts';
import { type Format, type FormatContext, formatOf, type PlannedFile } from './formats/format.ts';

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
    const { format, spec } = formatOf(output, formats);
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
