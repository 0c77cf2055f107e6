import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { parse as parseCsv } from 'csv-parse/sync';
import { DateTime } from 'luxon';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { programOf, type Version } from '../recorded/program.ts';
import { PLANTED_SECRETS } from '../support/secret-scan.ts';

const JOBS = fileURLToPath(new URL('../../jobs/', import.meta.url));
/** Given as a name, so that both versions resolve the periods of sections alike. */
const PERIODS = {
  'weekly-kpi': DateTime.utc().minus({ weeks: 1 }).toFormat("kkkk-'W'WW"),
  'board-pack': DateTime.utc().minus({ months: 1 }).toFormat('yyyy-MM'),
  'board-book': DateTime.utc().minus({ months: 1 }).toFormat('yyyy-MM'),
};
const REPORTS = ['weekly-kpi', 'board-pack', 'board-book'] as const;

const manifestSchema = z.looseObject({ figures: z.string() });

let folder: string;
let sandbox: Sandbox;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-figures-'));
  sandbox = await startSandbox({ now: Date.now(), windowMs: 1 });
  await cp(JOBS, join(folder, 'jobs'), { recursive: true });
  for (const report of REPORTS) {
    const path = join(folder, 'jobs', 'demo', `${report}.yaml`);
    const definition = z
      .looseObject({ outputs: z.array(z.looseObject({ format: z.string() })) })
      .parse(parse(await readFile(path, 'utf8')));
    const { approval: _, on_incomplete: __, ...rest } = definition;
    const delivered = {
      ...rest,
      outputs: [...definition.outputs.filter(({ format }) => format !== 'csv'), { format: 'csv' }],
      deliveries: [{ directory: { path: `out/${report}/{{ period.label }}`, overwrite: true }, send_if: 'changed' }],
    };
    // The pack waits for no words here.
    await writeFile(path, stringify(delivered).replace(/^ +commentary:\n(?: {6}.*\n)+/gm, ''));
  }
});
afterAll(async () => {
  await sandbox?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Runs a report of the demo under one version. */
async function runUnder(version: Version, report: string, ...args: string[]) {
  const command = [await programOf(version), 'run', `demo/${report}`, '--again', ...args];
  await promisify(execFile)(process.execPath, command, {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '',
      ...PLANTED_SECRETS,
      DOCKET_JOBS: 'jobs',
      DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href,
      COMPLIANCE_API_URL: sandbox.url,
      DEMO_API_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
      NODE_NO_WARNINGS: '1',
    },
    maxBuffer: 64 * 1024 * 1024,
  });
}

const fieldsSchema = z.object({
  fields: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      unit: z.string().optional(),
      comparison: z.string().optional(),
      constraints: z.unknown().optional(),
    }),
  ),
});

/**
 * What programs take from a file. Left out is what CHANGELOG names: a column "Cut off", and the name of the column of
 * days that were read. Descriptions of a schema are for people.
 */
function readByPrograms(name: string, text: string): string {
  if (name.endsWith('.json')) {
    const { fields } = fieldsSchema.parse(JSON.parse(text));
    return JSON.stringify(fields.filter((field) => field.name !== 'Cut off')).replaceAll('"Day"', '"bucket"');
  }
  const rows = z.array(z.array(z.string())).parse(parseCsv(text.replace(/^\uFEFFbucket,/, '\uFEFFDay,')));
  const left = rows[0]?.indexOf('Cut off') ?? -1;
  return JSON.stringify(left < 0 ? rows : rows.map((row) => row.toSpliced(left, 1)));
}

/** The hash by which `send_if: changed` compares. */
async function figuresIn(out: string): Promise<string> {
  const [name = ''] = (await readdir(out, { recursive: true })).filter((each) => each.endsWith('manifest.json'));
  return manifestSchema.parse(JSON.parse(await readFile(join(out, name), 'utf8'))).figures;
}

/** What readers and programs take from the files of a run: CSV with totals, and their schemas. */
async function dataFiles(out: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(out, { recursive: true })).filter((name) => /\.(csv|schema\.json)$/.test(name)).sort();
  return new Map(
    await Promise.all(
      names.map(async (name) => [name, readByPrograms(name, await readFile(join(out, name), 'utf8'))] as const),
    ),
  );
}

test.each(REPORTS)('%s has the data files of 0.2.0, and its figures count as unchanged', async (report) => {
  const requests = () => sandbox.requests().length;
  const asked: number[] = [];
  const files: ReadonlyMap<string, string>[] = [];
  const hashes: string[] = [];
  for (const version of ['0.2.0', 'this'] as const) {
    const before = requests();
    const out = join(folder, 'made', version, report);
    await runUnder(version, report, '--fresh', '--period', PERIODS[report], '--out', out);
    asked.push(requests() - before);
    files.push(await dataFiles(out));
    hashes.push(await figuresIn(out));
  }
  expect(files[0]?.size).toBeGreaterThan(3);
  expect([...(files[1]?.keys() ?? [])]).toEqual([...(files[0]?.keys() ?? [])]);
  for (const [name, text] of files[0] ?? []) expect(files[1]?.get(name), name).toBe(text);
  expect(asked[1]).toBe(asked[0]);
  expect(hashes[1]).toBe(hashes[0]);
});
