import { expect, test } from 'vitest';
import { reportFileSchema } from '../../src/compose/built-in-kinds.ts';
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
const plan = () => compilePlan({ definition, settings: settingsOf(), period: WEEK, catalog: CATALOG });

test('docket explain lists the calls of a run with their sections, and the tokens they cost', () => {
  const recipients = ['lead@acme.example', 'directory out'];
  const document = explain(plan(), { catalog: CATALOG, recipients });
  expect(document).toMatchObject({
    org: 'acme',
    report: 'weekly',
    tokens: 3,
    section_calls: 4,
    naive_calls: 5,
    outputs: ['xlsx: KPIs.xlsx', 'csv'],
    recipients,
    registry_version: 7,
  });
  expect(document.calls.map(({ sections, rows_at_most }) => [sections, rows_at_most])).toEqual([
    [['days', 'rate'], 7],
    // Two types × four risks and "no risk" × one week.
    [['mix'], 10],
    [['now'], 1],
    [['roster'], null],
  ]);
});

test('docket explain expects at most as many rows as the limits of section and service allow', () => {
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
  expect(rows(undefined, { ...CATALOG, limits: { ...CATALOG.limits, max_rows: 500 } })).toEqual([500, 230]);
});

test('docket explain expects rows up to the limit of the service if groups are unknown without a catalog', () => {
  expect(explain(plan()).calls.map(({ rows_at_most }) => rows_at_most)).toEqual([7, 5000, 1, null]);
});

test('docket explain shows the time zone of each schedule', () => {
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

test('docket explain shows no separate start for a slot without jitter', () => {
  const at = '2026-11-23T07:00:00.000Z';
  const slot = { at, local: 'Mon', timezone: 'Europe/Zurich', begins: at, schedule: '0 8 * * MON' };
  expect(
    formatExplain(explain(plan(), { slots: [slot] }))
      .split('\n')
      .at(-1),
  ).toBe(`Next     ${at}  Mon (Europe/Zurich)`);
});

test('docket explain shows the ordering of a list and the comparison of a report', () => {
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

test('docket explain returns plain JSON data', () => {
  const document = explain(plan(), { catalog: CATALOG });
  expect(JSON.parse(JSON.stringify(document))).toEqual(document);
});

test('docket explain prints aligned text', () => {
  const text = formatExplain(
    explain(plan(), {
      catalog: CATALOG,
      recipients: ['lead@acme.example', 'directory out'],
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
     for mix, at most 10 rows
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

const explained = (sections: Parameters<typeof definitionOf>[0], more: Parameters<typeof definitionOf>[1] = {}) =>
  compilePlan({ definition: definitionOf(sections, more), settings: settingsOf(), period: WEEK, catalog: CATALOG });

test('docket explain describes everything that a call requests', () => {
  const asks = (...requested: Parameters<typeof explained>) =>
    explain(explained(...requested)).calls.map((call) => call.asks);
  expect(
    asks(
      [
        {
          id: 'a',
          metrics: ['profiles.created', 'profiles.decided'],
          dimensions: ['profile.type', 'profile.risk'],
          filters: [
            { dimension: 'profile.type', op: 'eq', values: 'entity' },
            { dimension: 'profile.risk', op: 'not_in', values: ['low', 'high'] },
          ],
          granularity: 'week',
          limit: 3,
        },
        { id: 'b', metrics: ['profiles.created'], filters: [{ dimension: 'profile.risk', values: ['low', 'high'] }] },
      ],
      { compare: 'previous_period' },
    ),
  ).toEqual([
    'profiles.created, profiles.decided; by profile.type and profile.risk; each week; where profile.risk not in high, low; where profile.type is entity; with the previous period; first 3',
    'profiles.created; where profile.risk in high, low; with the previous period',
  ]);
  expect(
    asks([
      { id: 'a', list: 'profiles' },
      { id: 'b', list: 'profiles', ordering: '-id' },
      { id: 'c', list: 'profiles', search: 'x', ordering: 'id' },
    ]),
  ).toEqual(['all pages of profiles', 'all pages of profiles by -id', 'all pages of profiles by id matching "x"']);
});

test('docket explain shows the query of a list and the body of a metrics call', () => {
  const { calls } = explain(
    explained([
      { id: 'a', list: 'profiles' },
      { id: 'b', list: 'profiles', search: 'x', ordering: 'id' },
      { id: 'now', metrics: ['alerts.open'] },
    ]),
  );
  expect(calls.map(({ kind, request }) => [kind, request])).toEqual([
    ['list', { list: 'profiles' }],
    ['list', { list: 'profiles', ordering: 'id', search: 'x' }],
    ['report', { metrics: ['alerts.open'], time: { timezone: 'Europe/Zurich' } }],
  ]);
  expect(Object.keys(calls[0]?.request ?? {})).toEqual(['list']);
});

test('docket explain shows the range of a call that differs from the period in either end', () => {
  const part = explained([{ id: 'a', metrics: ['profiles.created'] }]);
  const asks = (period: Partial<typeof WEEK>) => explain({ ...part, period: { ...WEEK, ...period } }).calls[0]?.asks;
  expect(asks({})).toBe('profiles.created');
  expect(asks({ from: '2026-11-01' })).toBe('profiles.created; 2026-11-09 to 2026-11-15');
  expect(asks({ to: '2026-11-30' })).toBe('profiles.created; 2026-11-09 to 2026-11-15');
});

test('docket explain adds up the rows of all calls; with a list they are unknown', () => {
  const sections = [
    { id: 'a', metrics: ['profiles.created'], granularity: 'day' as const },
    { id: 'b', metrics: ['profiles.created'], dimensions: ['profile.type'] },
  ];
  expect(explain(explained(sections), { catalog: CATALOG }).rows_at_most).toBe(9);
  expect(explain(explained(sections)).rows_at_most).toBe(5007);
  const withList = [{ id: 'roster', list: 'profiles' as const }, ...sections];
  expect(explain(explained(withList), { catalog: CATALOG }).rows_at_most).toBe(null);
});

test('docket explain counts the calls needed metric by metric and section by section', () => {
  const sections = [
    { id: 'a', metrics: ['profiles.created', 'profiles.decided'], granularity: 'day' as const },
    { id: 'b', metrics: ['profiles.created'], granularity: 'day' as const },
    { id: 'roster', list: 'profiles' as const },
  ];
  expect(explain(explained(sections))).toMatchObject({ naive_calls: 3, section_calls: 2, tokens: 1 });
  const totals = {
    id: 'a',
    metrics: ['profiles.created', 'profiles.approval_rate'],
    dimensions: ['profile.risk'],
    granularity: 'day' as const,
    totals: true,
  };
  const plan = compilePlan({
    definition: definitionOf([totals]),
    settings: settingsOf(),
    period: WEEK,
    catalog: CATALOG,
    limits: { max_rows: 20 },
  });
  // Two parts with two metrics each, and a call for the totals of one metric.
  expect(explain(plan)).toMatchObject({ naive_calls: 5, section_calls: 3, tokens: 3 });
});

test('docket explain shows schedules in their own time zone or that of the organization, and the next slots', () => {
  const plan = explained([{ id: 'a', metrics: ['profiles.created'] }], {
    schedule: reportFileSchema.parse({
      version: 1,
      title: 'x',
      owner: 'ops@acme.example',
      period: 'previous_week',
      sections: [{ id: 'a', metrics: ['profiles.created'] }],
      outputs: [{ format: 'csv' }],
      schedule: [{ cron: '0 8 * * MON' }, { cron: '0 9 * * *', timezone: 'Asia/Tokyo' }],
    }).schedule,
  });
  expect(explain(plan, { timezone: 'Europe/Zurich' }).schedules).toEqual([
    '0 8 * * MON (Europe/Zurich)',
    '0 9 * * * (Asia/Tokyo)',
  ]);
  expect(explain(plan).schedules[0]).toBe("0 8 * * MON (the organization's zone)");
  const slot = (day: string, begins: string) => ({
    at: `${day}T07:00:00.000Z`,
    local: 'Mon 08:00',
    timezone: 'Europe/Zurich',
    begins,
    schedule: '0 8 * * MON',
  });
  const text = formatExplain(
    explain(plan, {
      timezone: 'Europe/Zurich',
      slots: [slot('2026-11-23', '2026-11-23T07:00:00.000Z'), slot('2026-11-30', '2026-11-30T07:01:00.000Z')],
    }),
  );
  expect(text).toBe(`acme/weekly: Weekly
Period   2026-W46 (2026-11-09 to 2026-11-15, Europe/Zurich)
Calls    1 metrics call (section by section 1, metric by metric 1), registry version 7
  1. profiles.created
     for a, at most 1 row
Tokens   1 of the key's budget
Outputs  csv
To       (no deliveries)
Schedule 0 8 * * MON (Europe/Zurich)
         0 9 * * * (Asia/Tokyo)
Next     2026-11-23T07:00:00.000Z  Mon 08:00 (Europe/Zurich)
         2026-11-30T07:00:00.000Z  Mon 08:00 (Europe/Zurich), begins 07:01:00.000Z`);
});

test('docket explain omits budget, schedules and slots that it does not get', () => {
  const document = explain(explained([{ id: 'a', metrics: ['profiles.created'] }]));
  expect(document).toMatchObject({ budget: null, schedules: [], slots: [], recipients: [], title: 'Weekly' });
  expect(formatExplain(document)).not.toMatch(/Budget|Schedule|Next/);
});

test('docket explain lists figures to date with the call of their section if they need no other call', () => {
  const january = { ...WEEK, from: '2026-01-01', to: '2026-01-31', label: '2026-01' };
  const risk = { id: 'risk', metrics: ['profiles.created'], dimensions: ['profile.risk'], totals: true };
  const plan = compilePlan({
    definition: definitionOf([risk], { to_date: 'year' }),
    settings: settingsOf(),
    period: january,
    catalog: CATALOG,
  });
  const document = explain(plan, { catalog: CATALOG });
  expect(document).toMatchObject({ naive_calls: 1, section_calls: 1, tokens: 1 });
  expect(formatExplain(document)).toContain('for risk; the figures to date of risk (rows and totals), at most 5 rows');
});

test('docket explain shows the period of a section if it differs by a day', () => {
  for (const own of [{ from: '2026-11-10' }, { to: '2026-11-14' }]) {
    const period = { ...WEEK, ...own, label: 'own' };
    const plan = compilePlan({
      definition: definitionOf([{ id: 'a', metrics: ['profiles.created'] }]),
      settings: settingsOf(),
      period: WEEK,
      sectionPeriods: { a: period },
      catalog: CATALOG,
    });
    expect(formatExplain(explain(plan))).toContain(`a: own (${period.from} to ${period.to})`);
  }
});
