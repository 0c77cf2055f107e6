import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { CheckedOrganizations } from '../../../src/definitions/load/checked-organization.ts';
import { createReportPacker, createUnpacker } from '../../../src/definitions/load/kept-reports.ts';
import { summariesOf } from '../../../src/definitions/load/load-definitions.ts';
import type { DefinitionParser } from '../../../src/definitions/load/parse-definitions.ts';
import { definitionParser, loadDefinitions } from '../../../src/services/definitions/built-in-kinds.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { TARGETS } from '../../support/targets-file.ts';

/** A start of a process: its definitions, and the files that it parsed. */
async function start(folder: string, entries: Map<string, Buffer>) {
  const parsed: string[] = [];
  const note = (file: string) => parsed.push(file.slice(folder.length + 1));
  const parser: DefinitionParser = {
    report: (text, file, ...rest) => {
      note(file);
      return definitionParser.report(text, file, ...rest);
    },
    settings: (text, file) => {
      note(file);
      return definitionParser.settings(text, file);
    },
    targets: (text, file) => {
      note(file);
      return definitionParser.targets(text, file);
    },
  };
  const unpack = createUnpacker();
  const checked: CheckedOrganizations = {
    unpack,
    read: async (org) => entries.get(org),
    write: (org, entry) => entries.set(org, entry),
  };
  const jobs = await loadDefinitions(folder, { parser, pack: createReportPacker(unpack), checked });
  return { jobs, parsed: parsed.sort() };
}

const TWO = { 'acme/org.yaml': ORG, 'acme/a.yaml': REPORT, 'acme/b.yaml': REPORT };
const ALL = Object.keys(TWO).sort();

test('a next start parses settings with a logo at most, and has the same definitions, demo and templates of workbooks included', async () => {
  const folder = join(import.meta.dirname, '../../../jobs');
  const entries = new Map<string, Buffer>();
  const first = await start(folder, entries);
  const next = await start(folder, entries);
  expect(first.parsed.length).toBeGreaterThan(2);
  expect(next.parsed).toEqual(['demo/org.yaml']);
  expect(next.jobs.orgs).toStrictEqual(first.jobs.orgs);
  expect([...next.jobs.reports]).toStrictEqual([...first.jobs.reports]);
  expect([...summariesOf(next.jobs)]).toStrictEqual([...summariesOf(first.jobs)]);
  for (const [name, report] of first.jobs.lastKnownGood.reports) {
    const { read: _, pack: __, ...rest } = report;
    expect(next.jobs.lastKnownGood.reports.get(name)).toMatchObject(rest);
    expect(next.jobs.lastKnownGood.reports.get(name)?.read()).toStrictEqual(report.read());
  }
});

test('a changed file alone is parsed again, and its faults are told at every start', async () => {
  const folder = await jobsFolder(TWO);
  const entries = new Map<string, Buffer>();
  await start(folder, entries);
  await writeFile(join(folder, 'acme/b.yaml'), REPORT.replace('version: 1', 'version: 2'));
  for (const _ of [1, 2]) {
    const { jobs, parsed } = await start(folder, entries);
    expect(parsed).toEqual(['acme/b.yaml']);
    expect(jobs.diagnostics.map(({ file }) => file)).toEqual([join(folder, 'acme/b.yaml')]);
    // A version that was good before the start is none of this process.
    expect([...jobs.reports.keys()]).toEqual(['acme/a']);
  }
  await writeFile(join(folder, 'acme/b.yaml'), REPORT);
  const again = await start(folder, entries);
  expect(again.parsed).toEqual(['acme/b.yaml']);
  expect((await start(folder, entries)).parsed).toEqual([]);
});

test('changed or added settings and targets have every report of the organization parsed again', async () => {
  const folder = await jobsFolder(TWO);
  const entries = new Map<string, Buffer>();
  await start(folder, entries);
  await writeFile(join(folder, 'acme/org.yaml'), `${ORG}# another\n`);
  expect((await start(folder, entries)).parsed).toEqual(ALL);
  await writeFile(join(folder, 'acme/targets.yaml'), TARGETS);
  expect((await start(folder, entries)).parsed).toEqual(['acme/a.yaml', 'acme/b.yaml', 'acme/targets.yaml']);
  const { jobs, parsed } = await start(folder, entries);
  expect(parsed).toEqual([]);
  expect(jobs.orgs.get('acme')?.targets).toHaveLength(3);
});

test('a removed report is gone, and an entry that is torn, missing or of another organization costs time only', async () => {
  const folder = await jobsFolder(TWO);
  const entries = new Map<string, Buffer>();
  await start(folder, entries);
  const whole = entries.get('acme') ?? Buffer.of();
  for (const torn of [whole.subarray(0, whole.length - 1), whole.subarray(0, 20), Buffer.of(), Buffer.from('other')]) {
    const { jobs, parsed } = await start(folder, new Map([['acme', torn]]));
    expect(parsed).toEqual(ALL);
    expect([...jobs.reports.keys()]).toEqual(['acme/a', 'acme/b']);
  }
  const other = await jobsFolder({ 'other/org.yaml': ORG, 'other/a.yaml': REPORT });
  expect((await start(other, new Map([['other', whole]]))).parsed).toEqual(['other/a.yaml']);
  await rm(join(folder, 'acme/a.yaml'));
  expect([...(await start(folder, entries)).jobs.reports.keys()]).toEqual(['acme/b']);
});

test('an entry holds no text of a file', async () => {
  const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/a.yaml': `# swordfish\n${REPORT}` });
  const entries = new Map<string, Buffer>();
  const { jobs } = await start(folder, entries);
  expect(jobs.lastKnownGood.reports.get('acme/a')?.read().text).toContain('swordfish');
  const entry = entries.get('acme') ?? Buffer.of();
  const head = entry.readUInt32BE(32);
  const parts = [entry.subarray(36, 36 + head), entry.subarray(36 + head)];
  const unpacked = parts.map((part) => inflateRawSync(part).toString());
  expect(unpacked.join()).toContain('Weekly');
  expect(unpacked.join()).not.toContain('swordfish');
});
