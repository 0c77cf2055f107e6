import { writeFileSync } from 'node:fs';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { DocketError } from '../../../src/base/error.ts';
import { definitionParser, loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import {
  type DefinitionSource,
  type WatchOptions,
  watchDefinitions,
} from '../../../src/definitions/load/definition-source.ts';
import type { Definitions } from '../../../src/definitions/load/load-definitions.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { recordingLog } from '../../support/queue-harness.ts';

const titled = (title: string) => REPORT.replace('title: Weekly', `title: ${title}`);
const BROKEN = REPORT.replace('previous_week', 'last_weak');

/** Writes to a temporary file and renames it, like editors and deployments. */
async function put(folder: string, file: string, text: string): Promise<void> {
  const path = join(folder, file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}~`, text);
  await rename(`${path}~`, path);
}

describe('watched definitions', () => {
  const log = recordingLog();
  const watching = async (folder: string, options: Partial<WatchOptions> = {}) => {
    log.lines.length = 0;
    const { admissionCheck } = options;
    const first = await loadDefinitions(folder, admissionCheck === undefined ? {} : { admissionCheck });
    const inForce = watchDefinitions(first, {
      clock: systemClock,
      log,
      parser: definitionParser,
      debounceMs: 20,
      ...options,
    });
    onTestFinished(() => inForce.close());
    // After the first check the folders are watched.
    await inForce.reload();
    return inForce;
  };
  /** Waits until the definitions fulfil `wanted`. */
  const until = (inForce: DefinitionSource, wanted: (jobs: Definitions) => boolean) =>
    new Promise<Definitions>((resolve) => {
      const stop = inForce.onChange((jobs) => {
        if (!wanted(jobs)) return;
        stop();
        resolve(jobs);
      });
      if (wanted(inForce.current())) resolve(inForce.current());
    });
  const titleOf = (jobs: Definitions, name = 'acme/weekly') => jobs.reports.get(name)?.title;

  it('change when a file is replaced, added or removed', async () => {
    const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
    const inForce = await watching(folder);
    await put(folder, 'acme/weekly.yaml', titled('Second'));
    await until(inForce, (jobs) => titleOf(jobs) === 'Second');
    await put(folder, 'acme/daily.yaml', titled('Daily'));
    await until(inForce, (jobs) => titleOf(jobs, 'acme/daily') === 'Daily');
    await rm(join(folder, 'acme/weekly.yaml'));
    const jobs = await until(inForce, ({ reports }) => !reports.has('acme/weekly'));
    expect([...jobs.reports.keys()]).toEqual(['acme/daily']);
    expect(jobs.diagnostics).toEqual([]);
    await put(folder, 'globex/org.yaml', ORG);
    await put(folder, 'globex/weekly.yaml', REPORT);
    await until(inForce, ({ reports }) => reports.has('globex/weekly'));
    await rm(join(folder, 'acme'), { recursive: true });
    expect([...(await until(inForce, ({ orgs }) => !orgs.has('acme'))).reports.keys()]).toEqual(['globex/weekly']);
  });

  it('report each successful check of the folder, and no failed one', async () => {
    const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
    let looks = 0;
    const inForce = await watching(folder, { onCheck: () => looks++, pollIntervalMs: 3_600_000 });
    const before = looks;
    expect(before).toBeGreaterThan(0);
    await inForce.reload();
    expect(looks).toBeGreaterThan(before);
    await rm(folder, { recursive: true });
    await inForce.reload();
    const gone = looks;
    await inForce.reload();
    expect(looks).toBe(gone);
  });

  it('change when the links of a mounted ConfigMap are switched', async () => {
    const folder = await jobsFolder({ 'acme/..one/org.yaml': ORG, 'acme/..one/weekly.yaml': REPORT });
    await symlink('..one', join(folder, 'acme/..data'));
    for (const file of ['org.yaml', 'weekly.yaml']) await symlink(`..data/${file}`, join(folder, 'acme', file));
    const inForce = await watching(folder);
    expect(titleOf(inForce.current())).toBe('Weekly');
    await put(folder, 'acme/..two/org.yaml', ORG);
    await put(folder, 'acme/..two/weekly.yaml', titled('Second'));
    await symlink('..two', join(folder, 'acme/..data_tmp'));
    await rename(join(folder, 'acme/..data_tmp'), join(folder, 'acme/..data'));
    await until(inForce, (jobs) => titleOf(jobs) === 'Second');
  });

  it('change when the folder becomes a link to another checkout', async () => {
    const parent = await jobsFolder({
      'one/acme/org.yaml': ORG,
      'one/acme/weekly.yaml': REPORT,
      'two/acme/org.yaml': ORG,
      'two/acme/weekly.yaml': titled('Second'),
    });
    await symlink('one', join(parent, 'jobs'));
    const inForce = await watching(join(parent, 'jobs'));
    await symlink('two', join(parent, 'next'));
    await rename(join(parent, 'next'), join(parent, 'jobs'));
    await until(inForce, (jobs) => titleOf(jobs) === 'Second');
  });

  it('are polled for changes that the system does not report', async () => {
    const folder = await jobsFolder({ 'rev/one/acme/org.yaml': ORG, 'rev/one/acme/weekly.yaml': REPORT });
    await symlink('one', join(folder, 'rev/current'));
    const inForce = await watching(join(folder, 'rev/current/acme/..'), { pollIntervalMs: 20 });
    await put(folder, 'rev/two/acme/org.yaml', ORG);
    await put(folder, 'rev/two/acme/weekly.yaml', titled('Second'));
    await symlink('two', join(folder, 'rev/next'));
    await rename(join(folder, 'rev/next'), join(folder, 'rev/current'));
    await until(inForce, (jobs) => titleOf(jobs) === 'Second');
  });

  it('keep the last good version of a file with an error, and log the place of the error', async () => {
    const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT, 'acme/daily.yaml': REPORT });
    const inForce = await watching(folder);
    const before = inForce.current().reports.get('acme/weekly');
    await put(folder, 'acme/weekly.yaml', BROKEN);
    const jobs = await until(inForce, ({ usingLastKnownGood }) => usingLastKnownGood.size > 0);
    expect(jobs.reports.get('acme/weekly')).toEqual(before);
    expect([...jobs.usingLastKnownGood]).toEqual(['acme/weekly']);
    const errors = log.lines.filter(({ level }) => level === 'error');
    expect(errors).toHaveLength(1);
    expect(errors[0]?.message).toContain(`${join(folder, 'acme/weekly.yaml')}:5:`);
    // Other files still change, and the error is not logged again.
    await put(folder, 'acme/daily.yaml', titled('Daily'));
    await until(inForce, (now) => titleOf(now, 'acme/daily') === 'Daily');
    expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
    await put(folder, 'acme/weekly.yaml', titled('Second'));
    const good = await until(inForce, ({ usingLastKnownGood }) => usingLastKnownGood.size === 0);
    expect(titleOf(good)).toBe('Second');
  });

  it('keep an organization whose org.yaml has an error, while its reports still change', async () => {
    const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
    const inForce = await watching(folder);
    await put(folder, 'acme/org.yaml', ORG.replace('Europe/Zurich', 'Mars/Olympus'));
    await until(inForce, ({ usingLastKnownGood }) => usingLastKnownGood.has('acme'));
    await put(folder, 'acme/weekly.yaml', titled('Second'));
    const jobs = await until(inForce, (now) => titleOf(now) === 'Second');
    expect(jobs.orgs.get('acme')?.timezone).toBe('Europe/Zurich');
  });

  it('apply a change of org.yaml to all its reports, even to one with an error', async () => {
    const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT, 'acme/daily.yaml': REPORT });
    const inForce = await watching(folder);
    const before = inForce.current().reports;
    await put(folder, 'acme/weekly.yaml', BROKEN);
    await until(inForce, ({ usingLastKnownGood }) => usingLastKnownGood.size > 0);
    await put(folder, 'acme/org.yaml', ORG.replace('name: Acme', 'name: Acme Ltd'));
    const { reports } = await until(inForce, ({ orgs }) => orgs.get('acme')?.name === 'Acme Ltd');
    for (const name of ['acme/weekly', 'acme/daily']) {
      expect(reports.get(name)?.digest).not.toBe(before.get(name)?.digest);
    }
  });

  it('do not keep a report with recipients that org.yaml no longer allows', async () => {
    const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT, 'acme/daily.yaml': REPORT });
    const inForce = await watching(folder);
    await put(folder, 'acme/weekly.yaml', BROKEN);
    await until(inForce, ({ usingLastKnownGood }) => usingLastKnownGood.size > 0);
    await put(folder, 'acme/org.yaml', ORG.replace('domains: [acme.example]', 'domains: [other.example]'));
    const jobs = await until(inForce, ({ usingLastKnownGood }) => usingLastKnownGood.size === 0);
    expect([...jobs.reports.keys()]).toEqual([]);
  });

  it('keep the last good version of a report that this deployment cannot run', async () => {
    const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': titled('First') });
    const inForce = await watching(folder, {
      admissionCheck: ({ title }) =>
        title === 'Unmailable'
          ? new DocketError('config.invalid', 'No mail server is set.', { next: 'Set it.' })
          : undefined,
    });
    await put(folder, 'acme/weekly.yaml', titled('Unmailable'));
    const jobs = await until(inForce, ({ usingLastKnownGood }) => usingLastKnownGood.size > 0);
    expect(titleOf(jobs)).toBe('First');
    expect(jobs.diagnostics).toMatchObject([{ message: 'No mail server is set.' }]);
  });

  it('stay when the folder is missing or empty, until a reload confirms the empty folder', async () => {
    const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
    const inForce = await watching(folder, { pollIntervalMs: 10 });
    const reported = new Promise<void>((resolve) => {
      const { error } = log;
      log.error = (message, fields) => {
        error(message, fields);
        log.error = error;
        resolve();
      };
    });
    await rm(join(folder, 'acme'), { recursive: true });
    await reported;
    expect(log.lines.at(-1)?.why).toContain('no organization any more');
    expect(inForce.current().reports.size).toBe(1);
    await inForce.reload();
    expect(inForce.current().reports.size).toBe(0);
    await rm(folder, { recursive: true });
    await inForce.reload();
    expect(log.lines.at(-1)).toMatchObject({ level: 'error', path: folder });
  });

  it('are readable again when an unmounted folder is back', async () => {
    const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
    const inForce = await watching(folder, { pollIntervalMs: 10 });
    await rename(join(folder, 'acme'), `${folder}-away`);
    await expect.poll(() => inForce.unreadable?.()?.why).toContain('no organization any more');
    await rename(`${folder}-away`, join(folder, 'acme'));
    await expect.poll(() => inForce.unreadable?.()).toBeUndefined();
    expect(inForce.current().reports.size).toBe(1);
  });

  it('are read again if the folder changes while it is read', async () => {
    const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': titled('Second') });
    let written = false;
    const inForce = await watching(folder, {
      pollIntervalMs: 3_600_000,
      // Called during a reload after a report was read, and changes that file.
      admissionCheck: ({ title }) => {
        if (title === 'Third' && !written) {
          written = true;
          writeFileSync(join(folder, 'acme/weekly.yaml'), titled('Fourth, and last'));
        }
        return undefined;
      },
    });
    const titles: (string | undefined)[] = [];
    inForce.onChange((jobs) => titles.push(titleOf(jobs)));
    await put(folder, 'acme/weekly.yaml', titled('Third'));
    await inForce.reload();
    expect(titleOf(inForce.current())).toBe('Fourth, and last');
    expect(titles).toEqual(['Fourth, and last']);
  });

  it('are not read while nothing changes, although each check is reported', async () => {
    const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
    const requested: string[] = [];
    let more: () => void = () => {};
    const inForce = await watching(folder, {
      pollIntervalMs: 5,
      onCheck: () => more(),
      admissionCheck: ({ title }) => {
        requested.push(title);
        return undefined;
      },
    });
    const before = requested.length;
    let looks = 0;
    await new Promise<void>((resolve) => {
      more = () => {
        looks += 1;
        if (looks === 3) resolve();
      };
    });
    expect(requested).toHaveLength(before);
    expect(titleOf(inForce.current())).toBe('Weekly');
  });

  it('log once that the folder cannot be read, and again after an explicit reload', async () => {
    const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
    let sleeps: () => void = () => {};
    const clock = {
      ...systemClock,
      sleep: (ms: number, signal?: AbortSignal) => {
        sleeps();
        return systemClock.sleep(ms, signal);
      },
    };
    const inForce = await watching(folder, { pollIntervalMs: 5, clock });
    await rm(folder, { recursive: true });
    await inForce.reload();
    const errors = () => log.lines.filter(({ level }) => level === 'error').length;
    const once = errors();
    let looks = 0;
    await new Promise<void>((resolve) => {
      sleeps = () => {
        looks += 1;
        if (looks === 5) resolve();
      };
    });
    expect(errors()).toBe(once);
    await inForce.reload();
    expect(errors()).toBe(once + 1);
  });

  it('log twenty of the reports that a reload changed, and the number of others', async () => {
    const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
    const inForce = await watching(folder, { pollIntervalMs: 3_600_000 });
    for (const file of ['org.yaml', ...Array.from({ length: 22 }, (_, index) => `r${index}.yaml`)]) {
      await put(`${folder}~new`, file, file === 'org.yaml' ? ORG : REPORT);
    }
    onTestFinished(() => rm(`${folder}~new`, { recursive: true, force: true }));
    await rename(`${folder}~new`, join(folder, 'globex'));
    await until(inForce, ({ reports }) => reports.size === 23);
    const [news] = log.lines.filter(({ message }) => message === 'Definitions reloaded').slice(-1);
    expect(news?.why?.split(', ')).toHaveLength(21);
    expect(news?.why).toMatch(/^globex\/r0 added, .*, 2 more$/);
  });

  it('resolve reloads that are requested before and after closing', async () => {
    const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
    const inForce = await watching(folder, { pollIntervalMs: 3_600_000 });
    const requested = inForce.reload();
    const closed = inForce.close();
    const late = inForce.reload();
    await Promise.all([requested, closed, late]);
    await put(folder, 'acme/weekly.yaml', titled('Second'));
    await inForce.reload();
    expect(titleOf(inForce.current())).toBe('Weekly');
  });

  it('report no change for a file that is rewritten with the same text', async () => {
    const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
    const inForce = await watching(folder);
    const { reports } = inForce.current();
    const reported: Definitions[] = [];
    inForce.onChange((jobs) => reported.push(jobs));
    await put(folder, 'acme/weekly.yaml', REPORT);
    await inForce.reload();
    expect(reported).toEqual([]);
    expect(inForce.current().reports.get('acme/weekly')).toBe(reports.get('acme/weekly'));
  });
});
