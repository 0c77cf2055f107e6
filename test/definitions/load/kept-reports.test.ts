import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createReportPacker } from '../../../src/definitions/load/kept-reports.ts';
import { summariesOf } from '../../../src/definitions/load/load-definitions.ts';
import { loadDefinitions } from '../../../src/services/definitions/built-in-kinds.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';

const titled = (title: string) => REPORT.replace('title: Weekly', `title: ${title}`);

test('packed reports read as those that are not, demo and templates of workbooks included', async () => {
  const folder = join(import.meta.dirname, '../../../jobs');
  const plain = await loadDefinitions(folder);
  const packed = await loadDefinitions(folder, { pack: createReportPacker() });
  expect(plain.reports.size).toBeGreaterThan(2);
  expect([...packed.reports]).toStrictEqual([...plain.reports]);
  for (const [name, { digest, schedule, title }] of plain.reports) {
    expect(summariesOf(packed).get(name)).toMatchObject({ digest, schedule, title });
    expect(packed.lastKnownGood.reports.get(name)?.read().text).toBe(
      plain.lastKnownGood.reports.get(name)?.read().text,
    );
  }
});

test('packed reports are frozen', async () => {
  const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
  const { reports } = await loadDefinitions(folder, { pack: createReportPacker() });
  expect(Object.isFrozen(reports.get('acme/weekly')?.sections[0])).toBe(true);
});

test('reports of packs that have lost most of theirs are packed again, and every version is the newest', async () => {
  const names = Array.from({ length: 60 }, (_, index) => `r${index}`);
  const files = names.map((name) => [`acme/${name}.yaml`, titled(name)]);
  const folder = await jobsFolder({ 'acme/org.yaml': ORG, ...Object.fromEntries(files) });
  const pack = createReportPacker();
  let jobs = await loadDefinitions(folder, { pack });
  const packs = () => new Set([...jobs.lastKnownGood.reports.values()].map((report) => report.pack));
  const first = packs();
  for (const [round, name] of names.slice(0, 8).entries()) {
    await writeFile(join(folder, 'acme', `${name}.yaml`), titled(`again ${round}`));
    jobs = await loadDefinitions(folder, { pack, previous: jobs.lastKnownGood });
    expect(jobs.reports.get(`acme/${name}`)?.title).toBe(`again ${round}`);
    expect(packs().size).toBeLessThanOrEqual(5);
  }
  expect([...packs()].some((one) => first.has(one))).toBe(false);
  expect([...summariesOf(jobs).values()].map(({ title }) => title)).toEqual(
    [...jobs.reports.values()].map(({ title }) => title),
  );
});
