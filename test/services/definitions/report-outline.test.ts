import { expect, test } from 'vitest';
import { loadDefinitions, requireReport } from '../../../src/compose/built-in-kinds.ts';
import { outlineReport, reportOutlineSchema } from '../../../src/services/definitions/report-outline.ts';
import { jobsFolder } from '../../support/jobs-folder.ts';

const ORG = `org: current
api_key: { env: ACME_KEY }
timezone: Europe/Zurich
calendar: { holidays: [] }
recipients: { domains: [acme.example] }
`;
const TARGETS = `version: 1
targets:
  - { metric: profiles.approval_rate, better: higher, target: 90%, watch: 85% }
  - { metric: profiles.approval_rate, better: higher, target: 95%, from: 2026-11-01 }
  - { metric: profiles.approval_rate, better: higher, target: 99%, from: 2027-01-01 }
  - { metric: cases.open, better: lower, target: 3 }
`;
const REPORT = `version: 1
title: Weekly KPIs
owner: ops@acme.example
schedule:
  - { cron: "0 8 * * MON" }
  - { cron: "30 6 * * *", on: { business_day: -1 }, timezone: Asia/Tokyo, start: 2026-12-01 }
period: previous_week
compare: [previous_period, previous_year]
to_date: quarter
on_incomplete: hold
labels: { profiles.created: New clients, profile.risk: Risk }
targets:
  - { metric: alerts.open, where: { profile.risk: high }, better: lower, target: 10 }
sections:
  - id: onboarding
    layout: scorecard
    groups: [{ title: Clients, metrics: [profiles.created, profiles.approval_rate] }]
  - id: alerts
    title: Open alerts
    metrics: [alerts.open]
    dimensions: [profile.risk]
    filters: [{ dimension: profile.risk, op: not_in, values: low }]
    limit: 20
    period: last_30_days
    compare: previous_year
    chart: { kind: bar }
  - { id: clients, list: profiles }
outputs:
  - { format: xlsx, name: "KPIs {{ period.label }}.xlsx", password: { env: SHEET_PASSWORD } }
  - { format: csv }
deliveries:
  - email: { to: [lead@acme.example, board@acme.example], attach: [xlsx], body: notice }
    send_if: changed
  - directory: { path: "/srv/reports" }
  - webhook: { url: { env: HOOK_URL }, secret: { env: HOOK_SECRET } }
`;

const outlineAt = async (now: string, report = REPORT) => {
  const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/targets.yaml': TARGETS, 'acme/weekly.yaml': report });
  const definitions = await loadDefinitions(folder);
  const { definition, settings } = requireReport(definitions, 'acme/weekly');
  return outlineReport({ definition, settings }, Date.parse(now));
};

test('an outline says who gets the report, when and in which form, and what it contains', async () => {
  const outline = await outlineAt('2026-11-21T13:00:00Z');
  expect(reportOutlineSchema.parse(outline)).toEqual(outline);
  expect(outline).toMatchObject({
    period: 'previous_week',
    compare: ['previous_period', 'previous_year'],
    to_date: 'quarter',
    on_incomplete: 'hold',
    outputs: [
      { format: 'xlsx', name: 'KPIs {{ period.label }}.xlsx' },
      { format: 'csv', name: null },
    ],
  });
  expect(outline.schedules.map(({ line, timezone }) => [line, timezone])).toEqual([
    ['0 8 * * MON', 'Europe/Zurich'],
    ['30 6 * * *, business day -1, from 2026-12-01', 'Asia/Tokyo'],
  ]);
  for (const part of ['08:00', 'Monday']) expect(outline.schedules[0]?.words).toContain(part);
  for (const part of ['06:30', 'last business day', '2026-12-01']) expect(outline.schedules[1]?.words).toContain(part);
  expect(outline.deliveries).toEqual([
    {
      kind: 'email',
      recipients: ['lead@acme.example', 'board@acme.example'],
      formats: ['xlsx'],
      body: 'notice',
      send_if: 'changed',
    },
    { kind: 'directory', recipients: ['/srv/reports'], formats: ['xlsx', 'csv'], body: null, send_if: null },
    // The webhook has no files. Its URL is a secret and is not shown.
    { kind: 'webhook', recipients: ['webhook of HOOK_URL'], formats: [], body: null, send_if: null },
  ]);
  expect(outline.sections).toMatchObject([
    {
      id: 'onboarding',
      title: 'onboarding',
      layout: 'scorecard',
      metrics: [
        { id: 'profiles.created', label: 'New clients' },
        { id: 'profiles.approval_rate', label: null },
      ],
      compare: null,
    },
    {
      title: 'Open alerts',
      layout: 'table',
      dimensions: [{ id: 'profile.risk', label: 'Risk' }],
      filters: [{ dimension: 'profile.risk', op: 'not_in', values: ['low'] }],
      limit: 20,
      period: 'last_30_days',
      compare: ['previous_year'],
      chart: 'bar',
    },
    { id: 'clients', list: 'profiles', metrics: [] },
  ]);
  expect(JSON.stringify(outline)).not.toContain('SECRET');
});

test.each([
  [
    '2026-10-31T12:00:00Z',
    [
      ['90%', null],
      ['95%', '2026-11-01'],
      ['99%', '2027-01-01'],
    ],
  ],
  // In Zurich it is already November.
  [
    '2026-10-31T23:30:00Z',
    [
      ['95%', '2026-11-01'],
      ['99%', '2027-01-01'],
    ],
  ],
  ['2027-02-01T12:00:00Z', [['99%', '2027-01-01']]],
])('an outline has the present and later targets of its own metrics: %s', async (now, expected) => {
  const { targets } = await outlineAt(now);
  const rate = targets.filter(({ metric }) => metric === 'profiles.approval_rate');
  expect(rate.map(({ target, from }) => [target, from])).toEqual(expected);
  expect(targets.filter(({ metric }) => metric !== 'profiles.approval_rate')).toMatchObject([
    { metric: 'alerts.open', where: { 'profile.risk': 'high' }, target: 10, source: 'report' },
  ]);
});

test('an outline says who must approve, which sections need a comment, and how long figures are watched', async () => {
  const plain = await outlineAt('2026-11-21T13:00:00Z');
  expect([plain.approval, plain.corrections, plain.sections[0]?.commentary]).toEqual([null, null, null]);
  const report = `version: 1
title: Board
owner: a@acme.example
period: previous_week
approval: { by: [anna, ben], need: 2, within: 3bd }
corrections: { watch: 35d, materiality: 0.5% }
targets: [{ metric: profiles.approval_rate, better: higher, target: 90% }]
sections:
  - { id: a, metrics: [alerts.open], commentary: required }
  - { id: b, metrics: [profiles.approval_rate], commentary: { required_if: breached, carry: true } }
  - { id: c, metrics: [alerts.open], commentary: { carry: true } }
  - { id: d, metrics: [alerts.open] }
outputs: [{ format: xlsx }]
`;
  const outline = await outlineAt('2026-11-21T13:00:00Z', report);
  expect(reportOutlineSchema.parse(outline)).toEqual(outline);
  expect(outline.approval).toEqual({ by: ['anna', 'ben'], need: 2, four_eyes: true, within: 3, otherwise: 'hold' });
  expect(outline.corrections).toEqual({ watch: '35d', materiality: 0.005, on_correction: 'notify_owner' });
  expect(outline.sections.map(({ commentary }) => commentary)).toEqual([
    'required',
    'required_if_breached',
    'optional',
    null,
  ]);
});
