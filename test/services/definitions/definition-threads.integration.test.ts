import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { DEFINITION_THREAD } from '../../../src/compose/threads.ts';
import { parseSettings } from '../../../src/definitions/load/parse-definitions.ts';
import { locate } from '../../../src/definitions/yaml/source-file.ts';
import { startReaderThread, startValidationThread } from '../../../src/services/definitions/definition-threads.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { CATALOG } from '../../support/reports.ts';

const HOSTILE = new URL('../../support/hostile-definitions.mjs', import.meta.url);
const ENDLESS = `${REPORT}# endless\n`;
const NAME = { org: 'acme', report: 'weekly' };
const settings = parseSettings(ORG, 'acme/org.yaml').value;
if (settings === undefined) throw new Error('settings with a fault');
const OF = { text: ORG, settings: { ...settings, id: 'acme' } };

const reading = (given: Partial<Parameters<typeof startReaderThread>[0]> = {}) => {
  const thread = startReaderThread({ entry: DEFINITION_THREAD, clock: systemClock, positions: true, ...given });
  onTestFinished(() => thread.close());
  return thread.reader;
};
const posting = (given: Partial<Parameters<typeof startValidationThread>[0]> = {}) => {
  const settings = { entry: DEFINITION_THREAD, clock: manualClock(Date.now()), catalogOf: async () => CATALOG };
  const thread = startValidationThread({ ...settings, ...given });
  onTestFinished(() => thread.close());
  return thread.validate;
};

test('a folder that is read in a thread gives the same definitions, positions and faults as without one', async () => {
  const folder = await jobsFolder({
    'acme/org.yaml': ORG,
    'acme/weekly.yaml': REPORT,
    'acme/broken.yaml': REPORT.replace('title:', 'titel:'),
    'rival/org.yaml': `${ORG}calendar: { country: XX }\n`,
  });
  const [here, there] = [await loadDefinitions(folder), await loadDefinitions(folder, { parser: reading() })];
  expect(there.diagnostics).toEqual(here.diagnostics);
  expect(there.diagnostics).toHaveLength(2);
  expect(there.orgs).toEqual(here.orgs);
  expect(there.reports).toEqual(here.reports);
  expect(Object.isFrozen(there.reports.get('acme/weekly')?.sections[0]?.metrics)).toBe(true);
  const [one, other] = [here, there].map(({ sources }) => sources.get('acme/weekly'));
  if (one === undefined || other === undefined) throw new Error('a file without its source');
  for (const path of [['title'], ['sections', 1, 'ordering'], ['outputs', 1, 'format'], ['sections', 0, 'gone']]) {
    expect(locate(other, path)).toEqual(locate(one, path));
  }
});

test('a file that takes too long has a fault and keeps its last good version; the other files are read', async () => {
  // Ends the deadline of the fifth file at once: three files of the first reading, the settings, and the endless one.
  let files = 0;
  const clock: Clock = {
    ...systemClock,
    sleep: async (ms, signal) => {
      files += ms === 10_000 ? 1 : 0;
      if (files !== 5 || ms !== 10_000) await systemClock.sleep(ms, signal);
    },
  };
  const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT, 'acme/zz.yaml': REPORT });
  const parser = reading({ clock, entry: HOSTILE, positions: false });
  const first = await loadDefinitions(folder, { parser });
  await writeFile(join(folder, 'acme/weekly.yaml'), ENDLESS);
  await writeFile(join(folder, 'acme/zz.yaml'), `${REPORT}# changed\n`);
  const second = await loadDefinitions(folder, { parser, previous: first.lastKnownGood });
  expect(second.diagnostics).toMatchObject([
    { file: join(folder, 'acme/weekly.yaml'), line: 1, column: 1, code: 'definition.over_limit' },
  ]);
  const digests = (jobs: typeof first) => ['acme/weekly', 'acme/zz'].map((name) => jobs.reports.get(name)?.digest);
  const [weekly, zz] = digests(first);
  expect(digests(second)[0]).toBe(weekly);
  expect(digests(second)[1]).not.toBe(zz);
  expect(second.usingLastKnownGood).toEqual(new Set(['acme/weekly']));
});

test('a posted text is checked against the catalog, with the line of each unknown name', async () => {
  const text = REPORT.replace('profiles.created', 'profiles.createt');
  const { faults, unchecked } = await posting()({ text, file: 'acme/weekly.yaml', name: NAME, of: OF });
  expect(unchecked).toBeNull();
  expect(faults).toContainEqual(expect.objectContaining({ line: 9, got: '"profiles.createt"' }));
});

test('at most one hundred names that the catalog lacks are reported', async () => {
  const values = Array.from({ length: 1_000 }, (_, index) => `value${index}`).join(', ');
  const text = REPORT.replace('[high, severe]', `[${values}]`);
  const { faults } = await posting()({ text, file: 'acme/weekly.yaml', name: NAME, of: OF });
  expect(faults).toHaveLength(100);
});

test('a posted text that takes too long has a fault, and does not stop the texts after it', async () => {
  const clock = manualClock(0);
  const check = posting({ clock, entry: HOSTILE });
  const post = (text: string, org: string) =>
    check({ text, file: `${org}/weekly.yaml`, name: { org, report: 'weekly' }, of: OF });
  const hog = post(ENDLESS, 'acme');
  const behind = post(REPORT, 'rival');
  await clock.slept(1_500);
  clock.advance(1_500);
  expect(await hog).toMatchObject({ faults: [{ code: 'definition.over_limit' }], unchecked: null });
  expect((await behind).faults.map(({ code }) => code)).not.toContain('definition.over_limit');
});

test('a posted text is refused as busy if its turn comes too late or the thread never starts', async () => {
  for (const entry of [HOSTILE, new URL('../../support/silent-thread.mjs', import.meta.url)]) {
    const clock = manualClock(0);
    const check = posting({ clock, entry });
    const posted = [ENDLESS, REPORT].map((text) =>
      expect(check({ text, file: 'x', name: NAME, of: OF })).rejects.toMatchObject({ code: 'definition.busy' }),
    );
    await clock.slept(1_900);
    clock.advance(1_900);
    await Promise.all(posted);
  }
});

test.each([
  [60, 200],
  [30, 500],
  [100, 500],
])('%i sections that share a list of %i values by an alias have no fault', async (sections, count) => {
  const values = Array.from({ length: count }, (_, index) => `value${index}`).join(', ');
  const section = (_: unknown, index: number) => `  - id: s${index}
    metrics: [profiles.created]
    filters: ${index === 0 ? `&shared [{ dimension: profile.risk, op: in, values: [${values}] }]` : '*shared'}
`;
  const [head] = REPORT.split('sections:');
  const [, tail] = REPORT.split('outputs:');
  const text = `${head}sections:\n${Array.from({ length: sections }, section).join('')}outputs:${tail}`;
  const { definition, diagnostics } = await reading().report(text, 'acme/weekly.yaml', NAME, OF);
  expect(diagnostics).toEqual([]);
  expect(definition?.sections).toHaveLength(sections);
});

test('a posted text is refused as busy when the queue of texts is full', async () => {
  const clock = manualClock(0);
  const check = posting({ clock, entry: HOSTILE });
  const posted = Array.from({ length: 6 }, () => check({ text: ENDLESS, file: 'x', name: NAME, of: undefined }));
  const last = posted.at(-1);
  await expect(last).rejects.toMatchObject({ code: 'definition.busy', retryable: true });
  // The thread ends with the test, and rejects the waiting calls.
  for (const one of posted) one.catch(() => {});
});
