import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../../src/base/clock.ts';
import { readConfig } from '../../../../src/base/config/config.ts';
import { silentLog } from '../../../../src/base/log.ts';
import { withRedis } from '../../../../src/cli/redis.ts';
import { loadDefinitions } from '../../../../src/compose/built-in-kinds.ts';
import { localRedis } from '../../../../src/demo/local-redis.ts';
import { redisActiveVersions } from '../../../../src/queue/definitions/active-versions.ts';
import { DEFAULT_KEY_PREFIX } from '../../../../src/redis/keys.ts';
import { jobsFolder, ORG } from '../../../support/jobs-folder.ts';
import { runCommand } from '../../../support/run-command.ts';

const findingSchema = z.looseObject({ path: z.array(z.union([z.string(), z.number()])), code: z.string().optional() });
const checkedSchema = z.object({ faults: z.array(findingSchema), warnings: z.array(findingSchema) });

const base = (rest: string) => `version: 1
title: Weekly
owner: ops@acme.example
sections:
  - { id: onboarding, metrics: [profiles.created] }
${rest}`;

async function check(rest: string, env: Readonly<Record<string, string>> = {}) {
  const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': base(rest) });
  const { stdout, code } = await runCommand(['check', '--offline', '--json'], { env: { DOCKET_JOBS: folder, ...env } });
  const { faults, warnings } = checkedSchema.parse(JSON.parse(stdout));
  const places = (found: typeof faults) => found.map(({ path }) => path.join('.'));
  return { folder, code, faults: places(faults), warnings: places(warnings), codes: faults.map((each) => each.code) };
}

const WEEKLY = 'schedule: { cron: "0 8 * * MON" }\nperiod: previous_week\n';
const XLSX = 'outputs: [{ format: xlsx }]\n';

describe('docket check', () => {
  test.each([
    ['0 8 1 * MON', 'schedule.cron'],
    ['0 8 31 * *', 'schedule.cron'],
    ['0 8 15,30 * *', 'schedule.cron'],
    ['0 8 31 JAN,APR *', 'schedule.cron'],
  ])('warns of the cron "%s", which skips months or matches extra days', async (cron, path) => {
    const found = await check(`schedule: { cron: "${cron}" }\nperiod: month_to_date\n${XLSX}`);
    expect(found).toMatchObject({ code: 0, faults: [], warnings: [path] });
  });

  test.each([
    'schedule: { cron: "0 8 * * MON" }\nperiod: previous_month\n',
    'schedule: { cron: "0 8 * * *" }\nperiod: previous_week\n',
    'schedule: { cron: "0 8 * * MON" }\nperiod: { from: 2026-01-01, to: 2026-01-31 }\n',
    'schedule: [{ cron: "0 8 * * MON" }, { cron: "0 9 * * MON" }]\nperiod: last_4_weeks\n',
  ])('warns if two slots have the same completed period: %j', async (rest) => {
    expect(await check(rest + XLSX)).toMatchObject({ code: 0, faults: [], warnings: ['period'] });
  });

  test.each([
    ['directory: { path: out }', 1],
    ['directory: { path: out, overwrite: true }', 0],
    ['directory: { path: "out/{{ period.label }}" }', 0],
    ['s3: { bucket: reports, key: "latest/{{ file.name }}" }', 1],
    ['s3: { bucket: reports }', 0],
  ])('warns if all slots write the same file name: %s', async (delivery, count) => {
    const rest = `${WEEKLY}outputs: [{ format: xlsx, name: latest.xlsx }]\ndeliveries:\n  - ${delivery}\n`;
    const { warnings, faults } = await check(rest);
    expect([faults, warnings]).toEqual([[], Array.from({ length: count }, () => 'deliveries.0')]);
  });

  test('does not warn of common schedules and periods', async () => {
    for (const rest of [
      WEEKLY,
      'schedule: { cron: "0 8 * * *" }\nperiod: month_to_date\n',
      'schedule: { cron: "0 8 * * *" }\nperiod: current_month\n',
      'schedule: { cron: "0 8 1 * *" }\nperiod: last_12_months\n',
      'schedule: { cron: "0 8 31 12 *" }\nperiod: year_to_date\n',
      'schedule: { cron: "0 8 L * *" }\nperiod: month_to_date\n',
      'period: previous_month\n',
    ]) {
      const deliveries = 'deliveries:\n  - directory: { path: out }\n';
      expect(await check(rest + XLSX + deliveries)).toMatchObject({ code: 0, faults: [], warnings: [] });
    }
  });
});

describe('a workbook with a password', () => {
  const outputs = 'outputs: [{ format: xlsx, password: { env: PW } }, { format: csv }]\n';
  const mail = (fields: string, rest = '') =>
    `${WEEKLY}${outputs}deliveries:\n  - email: { to: [a@acme.example], ${fields} }\n${rest}`;
  const PRIVATE = 'subject_figures: false, body: notice';

  test.each([
    mail(`attach: [xlsx, csv], ${PRIVATE}`),
    mail('attach: [xlsx], subject_figures: false'),
    mail('attach: [xlsx], subject_figures: false, body: summary'),
    mail('attach: [xlsx], body: notice, subject_figures: true'),
    mail('attach: [xlsx], body: notice, subject: "{{ headline }}", subject_figures: true'),
    `${WEEKLY}${outputs}deliveries:\n  - directory: { path: "o/{{ period.label }}" }\n`,
    `${WEEKLY}${outputs}deliveries:\n  - directory: { path: "o/{{ period.label }}", files: [xlsx, totals] }\n`,
  ])('is an error if a new definition also sends its figures unprotected: %j', async (rest) => {
    expect(await check(rest)).toMatchObject({ code: 1, faults: ['deliveries.0'], codes: ['delivery.unprotected'] });
  });

  test.each([
    mail(`attach: [xlsx], ${PRIVATE}`),
    mail('attach: [xlsx], body: notice'),
    mail('attach: [xlsx], body: notice, subject: "{{ headline }}"'),
    mail('attach: [xlsx, csv]', '    unprotected: true\n'),
    mail('attach: [xlsx], body: notice, subject: "Weekly {{ period.label }}"'),
    `${WEEKLY}${outputs}deliveries:\n  - directory: { path: "o/{{ period.label }}", files: [xlsx] }\n`,
    `${WEEKLY}outputs: [{ format: xlsx }, { format: csv }]\ndeliveries:\n  - email: { to: [a@acme.example], attach: [csv] }\n`,
  ])('is accepted if nothing is sent unprotected, or if the delivery allows that: %j', async (rest) => {
    expect(await check(rest)).toMatchObject({ code: 0, faults: [] });
  });

  test('keeps figures out of the subject, with a warning until the delivery says whether they may be there', async () => {
    const warnings = async (fields: string) => (await check(mail(`attach: [xlsx], body: notice${fields}`))).warnings;
    expect(await warnings('')).toEqual(['deliveries.0']);
    expect(await warnings(', subject: "Weekly {{ period.label }}"')).toEqual([]);
    expect(await warnings(', subject_figures: false')).toEqual([]);
  });

  test('is only a warning in the active version, and an error once the definition changes', async () => {
    const redis = await localRedis({ PATH: process.env.PATH });
    try {
      const env = { REDIS_URL: redis.url };
      const clear = mail('attach: [xlsx], subject_figures: false');
      const { folder } = await check(clear, env);
      const digest = (await loadDefinitions(folder)).reports.get('acme/weekly')?.digest ?? '';
      const config = readConfig({ REDIS_URL: redis.url });
      await withRedis({ config, env, clock: systemClock, log: silentLog }, (client) =>
        redisActiveVersions(client, { prefix: DEFAULT_KEY_PREFIX }).activate(
          [{ name: 'acme/weekly', digest, cursors: [] }],
          [],
          1,
          'host:1',
        ),
      );
      expect(await check(clear, env)).toMatchObject({
        code: 0,
        faults: [],
        warnings: ['deliveries.0'],
      });
      expect(await check(mail('attach: [csv, xlsx]'), env)).toMatchObject({ code: 1, faults: ['deliveries.0'] });
    } finally {
      await redis.close();
    }
  });
});
