import { describe, expect, test } from 'vitest';
import { RECIPE_NAMES } from '../../../src/cli/recipes/recipe.ts';
import { reportYaml } from '../../../src/cli/recipes/report-yaml.ts';
import { loadDefinitions, requireReport } from '../../../src/compose/built-in-kinds.ts';
import { sectionPeriodAdvice } from '../../../src/definitions/diagnostics/layout-diagnostics.ts';
import { resolveReportPeriod, resolveRunPeriods } from '../../../src/definitions/periods/period.ts';
import { buildTimetable, nextReportSlots } from '../../../src/definitions/schedules/slots.ts';
import { jobsFolder, ORG } from '../../support/jobs-folder.ts';

const NOW = Date.parse('2026-11-28T12:00:00Z');

/** By report: the sections with their own period, those whose days differ from 0.2.0, and the warnings. */
async function sectionsOf(folder: string) {
  const jobs = await loadDefinitions(folder);
  return [...jobs.reports.keys()].map((name) => {
    const { definition, settings } = requireReport(jobs, name);
    const source = jobs.sources.get(name);
    if (source === undefined) throw new Error(`no source of ${name}`);
    const changed = definition.sections.flatMap(({ id, period }) => {
      if (period === undefined) return [];
      const differs = nextReportSlots(buildTimetable(definition, settings), NOW, 12).some(({ at }) => {
        // 0.2.0 counted it from the slot, like the period of the report.
        const before = resolveReportPeriod({ ...definition, period }, settings, at);
        const after = resolveRunPeriods(definition, settings, at).sectionPeriods?.[id];
        return before.from !== after?.from || before.to !== after.to;
      });
      return differs ? [id] : [];
    });
    const own = definition.sections.filter(({ period }) => period !== undefined).map(({ id }) => id);
    return { name, own, changed, warnings: sectionPeriodAdvice(source, definition, settings, NOW) };
  });
}

/** A monthly report with sections of these periods. */
async function monthly(periods: readonly string[], more = 'schedule: { cron: "0 7 8 * *" }') {
  const sections = periods.map((period, at) => `  - { id: s${at}, metrics: [profiles.created], period: ${period} }`);
  const report = `version: 1
title: Monthly
owner: ops@acme.example
${more}
period: previous_month
sections:
${sections.join('\n')}
outputs: [{ format: xlsx }]
`;
  const [found] = await sectionsOf(await jobsFolder({ 'acme/org.yaml': ORG, 'acme/monthly.yaml': report }));
  if (found === undefined) throw new Error('no report');
  return found;
}

describe('sections whose days have changed since 0.2.0', () => {
  test('get a warning with the old and the new days; unchanged sections get none', async () => {
    const { changed, warnings } = await monthly(['last_13_weeks', 'last_13_months', 'year_to_date', 'previous_month']);
    expect(changed).toEqual(['s0', 's2']);
    expect(warnings).toMatchObject([
      {
        expected: expect.stringContaining('counts now: 2026-08-31 to 2026-11-29'),
        got: 'last_13_weeks, which 0.2.0 counted from the slot: 2026-09-07 to 2026-12-06',
        next: expect.stringContaining('period_from: slot'),
      },
      { got: 'year_to_date, which 0.2.0 counted from the slot: 2026-01-01 to 2026-12-08' },
    ]);
  });

  test('get no warning if the report sets `period_from`, and keep their days with `slot`', async () => {
    for (const period_from of ['slot', 'report']) {
      const more = `schedule: { cron: "0 7 8 * *" }\nperiod_from: ${period_from}`;
      const { changed, warnings } = await monthly(['last_13_weeks'], more);
      expect(warnings).toEqual([]);
      expect(changed).toEqual(period_from === 'slot' ? [] : ['s0']);
    }
  });

  test('of a report without a schedule get a warning as well', async () => {
    const { warnings } = await monthly(['previous_week'], 'timezone: UTC');
    expect(warnings).toHaveLength(1);
  });

  test('do not exist in the demo and in the recorded jobs of 0.2.0', async () => {
    const reports = [...(await sectionsOf('jobs')), ...(await sectionsOf('test/recorded/0.2.0/jobs'))];
    expect(reports.filter(({ own }) => own.length > 0).map(({ name, own }) => [name, own])).toEqual([
      ['demo/board-book', ['trend']],
      ['demo/board-pack', ['trend', 'exceptions']],
    ]);
    for (const { name, changed, warnings } of reports) expect([name, changed, warnings]).toEqual([name, [], []]);
  });

  test('do not exist in new reports, whose sections have no periods', () => {
    for (const recipe of RECIPE_NAMES) {
      const options = { report: recipe, owner: 'ops@acme.example', to: ['ops@acme.example'] };
      expect(reportYaml(recipe, options, undefined).text.match(/^ *period:.*$/gm)).toHaveLength(1);
    }
  });
});
