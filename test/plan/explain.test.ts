import { expect, test } from 'vitest';
import { reportFileSchema } from '../../src/define/definition.ts';
import { compilePlan } from '../../src/plan/compile.ts';
import { explain, formatExplain } from '../../src/plan/explain.ts';
import { CATALOG, definitionOf, settingsOf, WEEK } from '../support/reports.ts';

const definition = definitionOf(
  [
    { id: 'days', metrics: ['profiles.created', 'profiles.decided'], granularity: 'day' },
    { id: 'rate', metrics: ['profiles.approval_rate'], granularity: 'day' },
    { id: 'mix', metrics: ['profiles.created'], dimensions: ['profile.type', 'profile.risk'], granularity: 'week' },
    { id: 'now', metrics: ['alerts.open'] },
    { id: 'roster', list: 'profiles', search: 'Freight' },
  ],
  {
    outputs: [{ format: 'xlsx', name: 'KPIs.xlsx' }, { format: 'csv' }],
    deliveries: [{ email: { to: ['lead@acme.example'], attach: [] } }, { directory: { path: 'out' } }],
  },
);
const plan = compilePlan({ definition, settings: settingsOf(), period: WEEK, catalog: CATALOG });

test('says what a run would ask, for which sections, and what it costs', () => {
  const document = explain(plan, { catalog: CATALOG });
  expect(document).toMatchObject({
    org: 'acme',
    report: 'weekly',
    tokens: 3,
    section_calls: 4,
    naive_calls: 5,
    outputs: ['xlsx: KPIs.xlsx', 'csv'],
    recipients: ['lead@acme.example', 'directory out'],
    registry_version: 7,
  });
  expect(document.calls.map(({ sections, rows_at_most }) => [sections, rows_at_most])).toEqual([
    [['days', 'rate'], 7],
    // Two types × four risks × one week.
    [['mix'], 8],
    [['now'], 1],
    [['roster'], null],
  ]);
});

test('never promises more rows than limit and service let through in one call', () => {
  const rows = (limit: number | undefined, catalog = CATALOG) => {
    const { calls } = explain(
      compilePlan({
        definition: definitionOf([
          {
            id: 'a',
            metrics: ['profiles.created'],
            dimensions: ['profile.type'],
            granularity: 'day',
            ...(limit && { limit }),
          },
        ]),
        settings: settingsOf(),
        period: { ...WEEK, from: '2026-01-01', to: '2026-12-31' },
        catalog,
      }),
      { catalog },
    );
    return calls.map(({ rows_at_most }) => rows_at_most);
  };
  expect(rows(undefined)).toEqual([730]);
  expect(rows(100)).toEqual([100]);
  expect(rows(undefined, { ...CATALOG, limits: { ...CATALOG.limits, max_rows: 500 } })).toEqual([365, 365]);
});

test('without the catalog nobody knows the groups: the service’s own limit is the bound', () => {
  expect(explain(plan).calls.map(({ rows_at_most }) => rows_at_most)).toEqual([7, 5000, 1, null]);
});

test('says in what zone each schedule is read', () => {
  const scheduled = definitionOf([{ id: 'a', metrics: ['alerts.open'] }], {
    schedule: reportFileSchema.shape.schedule.parse([
      { cron: '0 8 * * MON' },
      { cron: '0 9 1 * *', timezone: 'America/New_York', catch_up: 'all' },
    ]),
  });
  const own = compilePlan({ definition: scheduled, settings: settingsOf(), period: WEEK, catalog: CATALOG });
  const text = formatExplain(explain(own, { timezone: 'Europe/Zurich' }));
  expect(text).toContain(`
Schedule 0 8 * * MON (Europe/Zurich)
         0 9 1 * *, catch_up all (America/New_York)`);
  expect(text).toContain('Calls    1 metrics call (');
  expect(explain(own).schedules[0]).toBe("0 8 * * MON (the organization's zone)");
});

test('a slot without jitter begins when it is due', () => {
  const at = '2026-11-23T07:00:00.000Z';
  const slot = { at, local: 'Mon', timezone: 'Europe/Zurich', begins: at, schedule: '0 8 * * MON' };
  expect(
    formatExplain(explain(plan, { slots: [slot] }))
      .split('\n')
      .at(-1),
  ).toBe(`Next     ${at}  Mon (Europe/Zurich)`);
});

test('says of a list how it is sorted, and of a report what it is compared with', () => {
  const own = compilePlan({
    definition: definitionOf(
      [
        { id: 'newest', list: 'profiles', ordering: '-id' },
        { id: 'all', list: 'profiles' },
        { id: 'a', metrics: ['profiles.created'] },
      ],
      { compare: 'previous_period' },
    ),
    settings: settingsOf(),
    period: WEEK,
    catalog: CATALOG,
  });
  expect(explain(own).calls.map(({ asks, request }) => [asks, request])).toEqual([
    ['all pages of profiles by -id', { list: 'profiles', ordering: '-id' }],
    ['all pages of profiles', { list: 'profiles' }],
    ['profiles.created; with the previous period', expect.anything()],
  ]);
});

test('is plain data', () => {
  const document = explain(plan, { catalog: CATALOG });
  expect(JSON.parse(JSON.stringify(document))).toEqual(document);
});

test('reads well on a terminal', () => {
  const text = formatExplain(
    explain(plan, {
      catalog: CATALOG,
      budget: { tokens: 28, waiting: 2, finish: Date.parse('2026-11-16T07:01:00Z') },
      slots: [
        {
          at: '2026-11-23T07:00:00.000Z',
          local: 'Mon 2026-11-23 08:00 UTC+01:00',
          timezone: 'Europe/Zurich',
          begins: '2026-11-23T07:06:29.300Z',
          schedule: '0 8 * * MON, jitter 10m',
        },
      ],
    }),
  );
  expect(text).toBe(`acme/weekly: Weekly
Period   2026-W46 (2026-11-09 to 2026-11-15, Europe/Zurich)
Calls    3 metrics calls (section by section 4, metric by metric 5), registry version 7
  1. profiles.created, profiles.decided, profiles.approval_rate; each day
     for days, rate, at most 7 rows
  2. profiles.created; by profile.type and profile.risk; each week
     for mix, at most 8 rows
  3. alerts.open; as of now
     for now, at most 1 row
  4. all pages of profiles matching "Freight"
     for roster
Tokens   3 of the key's budget
Budget   28 free, 2 waiting; answered by 2026-11-16T07:01:00.000Z if started now
Outputs  xlsx: KPIs.xlsx; csv
To       lead@acme.example, directory out
Next     2026-11-23T07:00:00.000Z  Mon 2026-11-23 08:00 UTC+01:00 (Europe/Zurich), begins 07:06:29.300Z`);
});
