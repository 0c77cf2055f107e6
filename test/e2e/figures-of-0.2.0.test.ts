import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse as parseCsv } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { compareEditions } from '../../src/run/corrections/compare-editions.ts';
import { type EditionFigures, editionFiguresSchema } from '../../src/run/corrections/edition-figures.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { deployment } from '../recorded/deployment.ts';
import { programOf, type Version } from '../recorded/program.ts';
import { captureStderr } from '../support/capture-stderr.ts';
import { faketimeRedis } from '../support/faketime-redis.ts';

const JOBS = fileURLToPath(new URL('../../jobs/', import.meta.url));
const NOW = Date.parse('2026-11-10T09:00:00Z');
/** Named periods, so that both versions resolve the periods of sections in the same way. */
const PERIODS = { 'weekly-kpi': '2026-W45', 'board-pack': '2026-10', 'board-book': '2026-10' };
const REPORTS = ['weekly-kpi', 'board-pack', 'board-book'] as const;

const manifestSchema = z.looseObject({ figures: z.string(), edition_figures: z.string() });

let folder: string;
let sandbox: Sandbox;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-figures-'));
  sandbox = await startSandbox({ now: NOW, windowMs: 1 });
  const jobs = join(folder, 'jobs');
  await cp(JOBS, jobs, { recursive: true });
  const settings = join(jobs, 'demo', 'org.yaml');
  await writeFile(settings, `${await readFile(settings, 'utf8')}budget: { calls: 1000, window: 1 }\n`);
  for (const report of REPORTS) {
    const path = join(jobs, 'demo', `${report}.yaml`);
    const definition = z
      .looseObject({ outputs: z.array(z.looseObject({ format: z.string() })) })
      .parse(parse(await readFile(path, 'utf8')));
    const { approval: _, on_incomplete: __, ...rest } = definition;
    const delivered = {
      ...rest,
      outputs: [...definition.outputs.filter(({ format }) => format !== 'csv'), { format: 'csv' }],
      corrections: { watch: '35d', materiality: '0%' },
      deliveries: [{ directory: { path: `out/${report}/{{ period.label }}`, overwrite: true }, send_if: 'changed' }],
    };
    // Without comments, so that the pack does not wait.
    await writeFile(path, stringify(delivered).replace(/^ +commentary:\n(?: {6}.*\n)+/gm, ''));
  }
});
afterAll(async () => {
  await sandbox?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Runs a report of the demo in one version with its own Redis and archive. Returns the folder of both. */
async function runUnder(version: Version, report: string, ...args: string[]): Promise<string> {
  const own = join(folder, version, report);
  await cp(join(folder, 'jobs'), join(own, 'jobs'), { recursive: true });
  // The service's clock stands still and its figures become stale after two minutes, so this clock starts a little earlier.
  const seconds = Math.round((NOW - Date.now()) / 1000) - 50;
  const redis = await faketimeRedis(undefined, seconds);
  try {
    const docket = await deployment({
      folder: own,
      env: {
        REDIS_URL: redis.url,
        COMPLIANCE_API_URL: sandbox.url,
        DEMO_API_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
        DOCKET_SIGNING_KEY: '',
        NODE_NO_WARNINGS: '1',
      },
      token: () => '',
      main: await programOf(version),
      onStderr: captureStderr,
    });
    await docket.setClock(seconds);
    const { code, stderr } = await docket.run(['run', `demo/${report}`, ...args]);
    expect(code, stderr).toBe(0);
  } finally {
    await redis.close();
  }
  return own;
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
 * The part of a file that programs use. Drops the changes that CHANGELOG names (the column "Cut off", and the name of the
 * column of daily readings) and the descriptions in schemas, which are for people.
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

/** The hash that `send_if: changed` compares, and the figures that later editions are compared with. */
async function storedFigures(own: string, out: string): Promise<{ hash: string; edition: EditionFigures }> {
  const [name = ''] = (await readdir(out, { recursive: true })).filter((each) => each.endsWith('manifest.json'));
  const manifest = manifestSchema.parse(JSON.parse(await readFile(join(out, name), 'utf8')));
  const archive = join(own, 'archive');
  const files = await readdir(archive, { recursive: true });
  const path = files.find((each) => each.endsWith(`figures/${manifest.edition_figures}.json`)) ?? '';
  const edition = editionFiguresSchema.parse(JSON.parse(await readFile(join(archive, path), 'utf8')));
  return { hash: manifest.figures, edition };
}

/** Its past figures still change, so this version no longer watches it. A comparison skips metrics that one edition lacks. */
const UNWATCHED = 'rfis.response_rate';

/** The sections as JSON, without the metric that is no longer watched. */
const watched = (sections: EditionFigures['sections']): unknown =>
  JSON.parse(
    JSON.stringify(sections, (key, value) => {
      if (key === 'metrics')
        return z
          .array(z.looseObject({ name: z.string() }))
          .parse(value)
          .filter(({ name }) => name !== UNWATCHED);
      return key === UNWATCHED ? undefined : value;
    }),
  );

/** The files of a run that programs use: CSV with totals, and their schemas. */
async function dataFiles(out: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(out, { recursive: true })).filter((name) => /\.(csv|schema\.json)$/.test(name)).sort();
  return new Map(
    await Promise.all(
      names.map(async (name) => [name, readByPrograms(name, await readFile(join(out, name), 'utf8'))] as const),
    ),
  );
}

test.each(REPORTS)('%s has the same data files as in 0.2.0, and its figures count as unchanged', async (report) => {
  const requests = () => sandbox.requests().length;
  const requested: number[] = [];
  const files: ReadonlyMap<string, string>[] = [];
  const stored: Awaited<ReturnType<typeof storedFigures>>[] = [];
  for (const version of ['0.2.0', 'this'] as const) {
    const before = requests();
    const out = join(folder, 'made', version, report);
    const own = await runUnder(version, report, '--fresh', '--period', PERIODS[report], '--out', out);
    requested.push(requests() - before);
    files.push(await dataFiles(out));
    stored.push(await storedFigures(own, out));
  }
  expect(files[0]?.size).toBeGreaterThan(3);
  expect([...(files[1]?.keys() ?? [])]).toEqual([...(files[0]?.keys() ?? [])]);
  for (const [name, text] of files[0] ?? []) expect(files[1]?.get(name), name).toBe(text);
  expect(requested[1]).toBe(requested[0]);
  const [before, now] = stored;
  if (before === undefined || now === undefined) throw new Error('nothing was stored');
  expect(now.hash).toBe(before.hash);
  // If the stored editions differed, corrections would report changes that nobody made.
  const { sections, boundaries, period, section_periods, corrections, settings } = before.edition;
  expect(sections.length).toBeGreaterThan(1);
  expect(boundaries).not.toEqual([]);
  const kept = { boundaries, period, corrections, settings, ...(section_periods && { section_periods }) };
  expect(now.edition).toMatchObject(kept);
  expect(watched(now.edition.sections)).toEqual(watched(sections));
  expect(compareEditions(before.edition, now.edition.sections).changes).toEqual([]);
});
