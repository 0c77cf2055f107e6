import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { DocketError } from '../base/error.ts';
import type { Output } from '../define/definition.ts';
import type { Dataset, Table } from '../fetch/dataset.ts';
import { type Artifact, MEDIA_TYPES } from './artifact.ts';
import { writeCsv, writeTotalsCsv } from './csv.ts';
import { type NameVariables, refuseCollisions, renderName, safeName } from './name.ts';
import { writeWorkbook } from './xlsx/workbook.ts';

export interface RenderOptions {
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
  readonly signal: AbortSignal;
}

const DEFAULT_NAMES = {
  xlsx: '{{ title }} {{ period.label }}',
  csv: '{{ title }} {{ period.label }} {{ section.id }}',
} as const;

interface Job {
  readonly name: string;
  readonly format: 'xlsx' | 'csv';
  /** For the error about two files of one name. */
  readonly of: string;
  readonly write: (path: string) => Promise<void>;
}

function csvJobs(dataset: Dataset, output: Output, variables: NameVariables, signal: AbortSignal): Job[] {
  const template = output.name ?? DEFAULT_NAMES.csv;
  return dataset.tables.flatMap((table: Table): Job[] => {
    const name = renderName(template, { ...variables, section: { id: table.id, title: table.title } }, '.csv');
    const of = `the CSV file of section "${table.id}"`;
    const data: Job = { name, format: 'csv', of, write: (path) => writeCsv(path, table, signal) };
    if (table.totals === undefined) return [data];
    const totals: Job = {
      name: safeName(name.slice(0, -'.csv'.length), '.totals.csv'),
      format: 'csv',
      of: `the totals of section "${table.id}"`,
      write: (path) => writeTotalsCsv(path, table, signal),
    };
    return [data, totals];
  });
}

function jobsOf(dataset: Dataset, outputs: readonly Output[], options: RenderOptions): Job[] {
  const variables: NameVariables = {
    period: dataset.period,
    org: dataset.org,
    report: dataset.report,
    title: dataset.title,
  };
  return outputs.flatMap((output): Job[] => {
    if (output.format === 'csv') return csvJobs(dataset, output, variables, options.signal);
    const name = renderName(output.name ?? DEFAULT_NAMES.xlsx, variables, '.xlsx');
    return [{ name, format: 'xlsx', of: 'the workbook', write: (path) => writeWorkbook(path, dataset, options) }];
  });
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

async function make(job: Job, folder: string, index: number): Promise<Artifact> {
  const temporary = join(folder, `.docket-${index}.part`);
  const path = join(folder, job.name);
  try {
    await rm(temporary, { force: true });
    await job.write(temporary);
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
 * Makes every file of a report: a workbook per `xlsx` output, a file per section (and its totals) per `csv` output.
 * A file appears under its name only when it is complete; when one fails, those made before it are taken away again.
 * Throws `template.invalid` or `render.failed`; what aborts `signal` is thrown as it is.
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
    for (const [index, job] of jobs.entries()) {
      options.signal.throwIfAborted();
      made.push(await make(job, folder, index));
    }
    return made;
  } catch (error) {
    await Promise.all(made.map((artifact) => rm(artifact.path, { force: true })));
    if (error instanceof DocketError || options.signal.aborted) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new DocketError('render.failed', `The files of ${dataset.org}/${dataset.report} could not be made: ${why}`, {
      where: folder,
      next: 'Check the folder and the free space on its disk; if both are fine, report this as a defect.',
      cause: error,
    });
  }
}
