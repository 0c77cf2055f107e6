import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse as parseCsv } from 'csv-parse/sync';
import { beforeAll, expect, inject, test } from 'vitest';
import { docket } from '../support/docket.ts';

const OUT = ['first', 'second'];
const demo = (out: string) => docket(['demo', '--out', out], { cwd: folder, env: { REDIS_URL: inject('redisUrl') } });

let folder: string;
let ended: Awaited<ReturnType<typeof demo>>[];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-demo-'));
  ended = await Promise.all(OUT.map(demo));
});

test('two demos that run at the same time both succeed and write all their files', async () => {
  for (const [index, { code, stderr }] of ended.entries()) {
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const files = await readdir(join(folder, OUT[index] ?? ''), { recursive: true });
    for (const pattern of [
      /Weekly KPIs .*\.xlsx$/,
      /Board pack .*\.xlsx$/,
      /Board workbook .*\.xlsx$/,
      /\.csv$/,
      /mailbox\/.*\.eml$/,
      /weekly-kpi\.html$/,
      /weekly-kpi\/[0-9a-f]{32}\/manifest\.json$/,
      /board-pack\/[0-9a-f]{32}\/manifest\.json$/,
    ]) {
      expect(files.some((file) => pattern.test(file))).toBe(true);
    }
    expect(files.filter((file) => file.endsWith('.part'))).toEqual([]);
    const page = files.find((file) => file.endsWith('weekly-kpi.html')) ?? '';
    const html = await readFile(join(folder, OUT[index] ?? '', page), 'utf8');
    // A browser opens it: the pictures must be inside.
    expect(html).toContain('src="data:image/png;base64,');
    expect(html).not.toContain('cid:');
    const filled = files.find((file) => /board-book\/[0-9a-f]{32}\/manifest\.json$/.test(file)) ?? '';
    const manifest = JSON.parse(await readFile(join(folder, OUT[index] ?? '', filled), 'utf8'));
    expect(manifest.files[0].workbook.tables[0]).toMatchObject({ name: 'Months', range: 'B5:I19', rows: 13 });
    // The list of counterparties is in the files and in no part of the board's e-mail.
    const own = (pattern: RegExp) => join(folder, OUT[index] ?? '', files.find((file) => pattern.test(file)) ?? '');
    const roster = await readFile(own(/archive\/demo\/board-pack\/.*roster\.csv$/), 'utf8');
    const listed: Record<string, string>[] = parseCsv(roster, { columns: true, bom: true });
    const names = listed.map((each) => each.Name ?? '');
    expect(names.length).toBeGreaterThan(10);
    const bodies = await Promise.all(
      [
        /archive\/demo\/board-pack\/[0-9a-f]{32}\/mail\.html$/,
        /archive\/demo\/board-pack\/[0-9a-f]{32}\/mail\.txt$/,
      ].map((pattern) => readFile(own(pattern), 'utf8')),
    );
    for (const body of bodies) expect(names.filter((name) => name === '' || body.includes(name))).toEqual([]);
    expect(stderr).toMatch(/demo\/weekly-kpi +plan/);
    expect(stderr).toMatch(/demo\/weekly-kpi +fetch +\d+ calls/);
    expect(stderr).toMatch(/demo\/board-pack \S+: done, \d+ API calls/);
  }
  expect((await readdir(folder)).sort()).toEqual(OUT);
});

test('an earlier demo is replaced whole', async () => {
  const weekly = join(folder, 'second', 'archive', 'demo', 'weekly-kpi');
  const [earlier] = await readdir(weekly);
  expect((await demo('second')).code).toBe(0);
  const runs = await readdir(weekly);
  expect(runs).toHaveLength(1);
  expect(runs).not.toContain(earlier);
  expect((await readdir(folder)).sort()).toEqual(OUT);
  expect(JSON.parse(await readFile(join(weekly, runs[0] ?? '', 'manifest.json'), 'utf8'))).toMatchObject({
    org: 'demo',
    report: 'weekly-kpi',
    recipients: expect.arrayContaining(['mlro@acme.example']),
  });
});
