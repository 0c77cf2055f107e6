import { expect, test } from 'vitest';
import { loadDefinitions, requireReport } from '../../../src/compose/built-in-kinds.ts';
import {
  dataReadyWarnings,
  preparationWarnings,
  viewPreparation,
} from '../../../src/services/preparations/explain-preparation.ts';
import { jobsFolder, ORG } from '../../support/jobs-folder.ts';
import { CATALOG } from '../../support/reports.ts';

const NOW = Date.parse('2026-11-28T12:00:00Z');

async function load(schedule: string, period: string, { sections = '', org = '' } = {}) {
  const report = `version: 1
title: Weekly
owner: ops@acme.example
schedule: ${schedule}
period: ${period}
sections:
  - { id: created, metrics: [profiles.created] }
${sections}outputs: [{ format: csv }]
`;
  const jobs = await loadDefinitions(await jobsFolder({ 'acme/org.yaml': ORG + org, 'acme/weekly.yaml': report }));
  const { definition: value, settings } = requireReport(jobs, 'acme/weekly');
  const source = jobs.sources.get('acme/weekly');
  if (source === undefined) throw new Error('no source');
  const warnings = preparationWarnings({ value, source, lost: [] }, settings, undefined, NOW);
  return { value, settings, source, jobs, warnings: warnings.map(({ code, path }) => ({ code, path })) };
}

test.each([
  ['a week that has ended', '{ cron: "0 9 * * MON", prepare: 2h }', 'previous_week', 0],
  ['a running month', '{ cron: "0 9 * * MON", prepare: 2h }', 'current_month', 1],
  ['a day that is complete after the slot', '{ cron: "0 1 * * *", prepare: 2h }', 'previous_day', 1],
  ['no prepare', '{ cron: "0 9 * * MON" }', 'current_month', 0],
])('check warns if nothing can be prepared: %s', async (_, schedule, period, count) => {
  const { warnings } = await load(schedule, period);
  expect(warnings).toHaveLength(count);
  if (count > 0) expect(warnings).toEqual([{ code: 'prepare.nothing', path: ['schedule', 'prepare'] }]);
});

test('check accepts a data_ready longer than prepare, and warns if it ends after the slot', async () => {
  const schedule = '{ cron: "0 9 * * *", prepare: 1h }';
  expect((await load(schedule, 'previous_day', { org: 'data_ready: 3h\n' })).warnings).toEqual([]);
  expect((await load(schedule, 'previous_day', { org: 'data_ready: 10h\n' })).warnings).toHaveLength(1);
});

test.each([
  ['30m', 1],
  ['60m', 1],
  ['61m', 0],
])('number of warnings of check for a data_ready of %s: %i', async (ready, count) => {
  const { jobs, settings } = await load('{ cron: "0 9 * * MON" }', 'previous_week', { org: `data_ready: ${ready}\n` });
  const found = dataReadyWarnings(jobs.sources.get('acme'), settings);
  expect(found.map(({ code, path }) => ({ code, path }))).toEqual(
    Array.from({ length: count }, () => ({ code: 'prepare.early', path: ['data_ready'] })),
  );
});

test('explain says which calls of the next slot are prepared, from when, and which are not', async () => {
  const { value, settings } = await load('{ cron: "0 9 * * MON", prepare: 2h }', 'previous_week', {
    sections: '  - { id: month, metrics: [profiles.created], period: current_month, period_from: slot }\n'.replace(
      ', period_from: slot',
      '',
    ),
  });
  const definition = { ...value, period_from: 'slot' as const };
  expect(viewPreparation({ definition, settings }, CATALOG, NOW)).toMatchObject({
    slot: '2026-11-30T08:00:00.000Z',
    calls: 1,
    of: 2,
    from: '2026-11-30T06:00:00.000Z',
    others: [{ why: 'incomplete' }],
  });
});
