import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { diskError } from '../base/disk-error.ts';
import { DocketError, wordsOf } from '../base/error.ts';
import type { Output } from '../define/definition.ts';
import type { Dataset } from '../fetch/dataset.ts';
import { type Artifact, MEDIA_TYPES } from './artifact.ts';
import { csvJobs, zipJobs } from './csv-files.ts';
import type { FileJob } from './file-job.ts';
import { type NameVariables, refuseCollisions, renderName } from './name.ts';
import { type WorkbookLook, writeWorkbook } from './xlsx/workbook.ts';

export interface RenderOptions extends WorkbookLook {
  /** Where the files are made; it exists. */
  readonly folder: string;
  /** The run's id. */
  readonly run: string;
  /** Epoch ms: the one instant that all files show as theirs. */
  readonly madeAt: number;
  /** The definition's digest. */
  readonly digest: string;
  /** BCP 47, for words in files; `en-GB` when absent. */
  readonly locale?: string | undefined;
  /** An e-mail attaches the CSV files: several are put into one zip besides. */
  readonly zipped?: boolean | undefined;
  readonly signal: AbortSignal;
}

const WORKBOOK_NAME = '{{ title }} {{ period.label }}';

function jobsOf(dataset: Dataset, outputs: readonly Output[], options: RenderOptions): FileJob[] {
  const variables: NameVariables = {
    period: dataset.period,
    org: dataset.org,
    report: dataset.report,
    title: dataset.title,
  };
  const about = { variables, locale: options.locale, signal: options.signal };
  const jobs = outputs.flatMap((output): FileJob[] => {
    if (output.format === 'csv') return csvJobs(dataset, output, about);
    const name = renderName(output.name ?? WORKBOOK_NAME, variables, '.xlsx');
    return [{ name, format: 'xlsx', of: 'the workbook', write: (path) => writeWorkbook(path, dataset, options) }];
  });
  return options.zipped === true ? [...jobs, ...zipJobs(jobs, about, options.madeAt)] : jobs;
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

async function make(job: FileJob, folder: string, made: readonly Artifact[]): Promise<Artifact> {
  const temporary = join(folder, `.docket-${made.length}.part`);
  const path = join(folder, job.name);
  try {
    await rm(temporary, { force: true });
    await job.write(temporary, made);
    const artifact: Artifact = {
      name: job.name,
      format: job.format,
      mediaType: MEDIA_TYPES[job.format],
      path,
      bytes: (await stat(temporary)).size,
      sha256: await sha256(temporary),
    };
    await rename(temporary, path);
    return artifact;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/**
 * Makes every file of a report: a workbook per `xlsx` output, a file per section (and
 * its totals) with its schema per `csv` output.
 * A file appears under its name only when it is complete; when one fails, those made before it are taken away again.
 * Throws `template.invalid`, `disk.unavailable` or `render.failed`; what aborts `signal` is thrown as it is.
 */
export async function renderFiles(
  dataset: Dataset,
  outputs: readonly Output[],
  options: RenderOptions,
): Promise<Artifact[]> {
  const folder = resolve(options.folder);
  const jobs = jobsOf(dataset, outputs, options);
  refuseCollisions(jobs);
  const made: Artifact[] = [];
  try {
    for (const job of jobs) {
      options.signal.throwIfAborted();
      made.push(await make(job, folder, made));
    }
    return made;
  } catch (error) {
    await Promise.all(made.map((artifact) => rm(artifact.path, { force: true })));
    if (options.signal.aborted) throw error;
    const failure = await diskError(error, folder);
    if (failure instanceof DocketError) throw failure;
    const what = `The files of ${dataset.org}/${dataset.report} could not be made`;
    throw new DocketError('render.failed', `${what}: ${wordsOf(error)}`, {
      where: folder,
      next: 'Check the folder and its permissions; if both are fine, report this as a defect.',
      cause: error,
    });
  }
}
