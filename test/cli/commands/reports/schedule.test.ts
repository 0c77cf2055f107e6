import { join } from 'node:path';
import { expect, test } from 'vitest';
import { jitterMs } from '../../../../src/definitions/schedules/slots.ts';
import { jobsFolder, ORG, REPORT } from '../../../support/jobs-folder.ts';
import { runCommand } from '../../../support/run-command.ts';

/** The schedules are far in the future, so that the next slots do not depend on the time of the test. */
const report = (schedule: string) => REPORT.replace(/^schedule: .*$/m, `schedule: ${schedule}`);
const YEAR = 'start: 2060-01-01, end: 2060-01-11';
const env = async (files: Readonly<Record<string, string>>) => ({
  DOCKET_JOBS: await jobsFolder({ 'acme/org.yaml': `${ORG}calendar: { country: CH }\n`, ...files }),
});

test('lists the next slots of all schedules with UTC and local time, rule and start of the run', async () => {
  const jobs = await env({
    'acme/weekly.yaml': report(
      `[{ cron: "0 8 * * SAT", ${YEAR}, shift: next_business_day, jitter: 10m }, { cron: "30 2 * * *", timezone: UTC, ${YEAR}, on: { business_day: 2 }, catch_up: all, catch_up_window: 7d }]`,
    ),
  });
  const { code, stdout } = await runCommand(['schedule', 'acme/weekly', '--json'], { env: jobs });
  expect(code).toBe(0);
  const monday = '2060-01-05T07:00:00.000Z';
  const begins = Date.parse(monday) + jitterMs('acme', 'weekly', Date.parse(monday), { jitter: 600 });
  // The 2nd is a Friday and the first business day. Saturday the 10th would move past the end.
  expect(JSON.parse(stdout)).toEqual({
    slots: [
      {
        report: 'acme/weekly',
        at: '2060-01-05T02:30:00.000Z',
        local: 'Mon 2060-01-05 02:30 UTC+00:00',
        timezone: 'UTC',
        begins: '2060-01-05T02:30:00.000Z',
        schedule: '30 2 * * *, business day 2, from 2060-01-01, to 2060-01-11, catch_up all, window 7d',
      },
      {
        report: 'acme/weekly',
        at: monday,
        local: 'Mon 2060-01-05 08:00 UTC+01:00',
        timezone: 'Europe/Zurich',
        begins: new Date(begins).toISOString(),
        schedule: '0 8 * * SAT, shift next_business_day, from 2060-01-01, to 2060-01-11, jitter 10m',
      },
    ],
    paused: null,
  });
  const table = (await runCommand(['schedule'], { env: jobs })).stdout;
  expect(table).toMatch(/^UTC +LOCAL +ZONE +REPORT +BEGINS +SCHEDULE\n/);
  expect(table).toContain('Mon 2060-01-05 02:30 UTC+00:00  UTC            acme/weekly  at once');
  expect(table).toContain(new Date(begins).toISOString());
});

test('names reports whose schedules have ended, but not reports without a schedule', async () => {
  const jobs = await env({
    'acme/over.yaml': report('{ cron: "0 8 * * *", end: 2020-01-01 }'),
    'acme/manual.yaml': REPORT.replace(/^schedule: .*\n/m, ''),
  });
  const { code, stdout, stderr } = await runCommand(['schedule'], { env: jobs });
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'No slots.\n' });
  expect(stderr).toMatch(/^acme\/over .*\n$/);
});

test('check reports an unknown calendar with its position', async () => {
  const jobs = await jobsFolder({
    'acme/org.yaml': `${ORG}calendar: { country: Swizerland }\n`,
    'acme/weekly.yaml': REPORT,
  });
  const { code, stdout } = await runCommand(['check', '--offline', '--json'], { env: { DOCKET_JOBS: jobs } });
  expect(code).toBe(1);
  expect(JSON.parse(stdout).faults).toMatchObject([{ file: join(jobs, 'acme/org.yaml'), line: 9 }]);
});
