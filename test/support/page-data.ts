import type { Access } from '../../src/admin/access/access.ts';
import type { OrganizationEntry, ReportDetail, SlotEntry } from '../../src/admin/access/reports.ts';
import type { HeldRun } from '../../src/admin/access/runs.ts';
import type { Principal } from '../../src/admin/auth/tokens.ts';
import { BUILT_IN_KINDS } from '../../src/compose/built-in-kinds.ts';
import { resolvePeriod } from '../../src/definitions/periods/period.ts';
import { kindLabels } from '../../src/definitions/schema/kinds.ts';
import type { TemplateView } from '../../src/definitions/schema/template-view.ts';
import type { ProcessReport } from '../../src/queue/process-reports.ts';
import type { StateCounts } from '../../src/queue/runs/run-counts.ts';
import type { Pause } from '../../src/queue/schedules/pauses.ts';
import type { LiveProgress, RunSnapshot } from '../../src/run/live-progress.ts';
import { RUN_STATES, type RunRecord, type RunState } from '../../src/run/run-record.ts';
import type { BudgetEntry } from '../../src/services/budgets/inspect-budgets.ts';
import type { Correction } from '../../src/services/corrections/correction.ts';
import type { CorrectionView } from '../../src/services/corrections/correction-service.ts';
import type { ReportOutline } from '../../src/services/definitions/report-outline.ts';
import type { DeliveryRow } from '../../src/services/deliveries/decisions.ts';
import type { ForecastDocument } from '../../src/services/forecast/forecast-document.ts';
import type { ReceivedDelivery } from '../../src/services/listings/received.ts';
import type { ReviewView } from '../../src/services/reviews/review-service.ts';
import type { FileEntry } from '../../src/services/runs/run-file-reader.ts';
import { NO_HISTORY } from '../../src/services/runs/run-history.ts';
import { buildTimeline } from '../../src/services/runs/timeline/run-timeline.ts';
import { waitReason } from '../../src/services/runs/timeline/wait-reason.ts';

/** Saturday 21 November 2026, 14:12 in Zurich. */
export const NOW = Date.parse('2026-11-21T13:12:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export const OPERATOR: Principal = { name: 'anna', kind: 'token', subject: 'token:anna', role: 'operator', orgs: '*' };
export const VIEWER: Principal = {
  name: 'ben',
  kind: 'token',
  subject: 'token:ben',
  role: 'viewer',
  orgs: ['acme'],
};

export const organizations: readonly OrganizationEntry[] = [
  { org: 'acme', name: 'Acme Compliance AG', timezone: 'Europe/Zurich', reports: 3, pause: null },
  { org: 'globex', name: 'Globex Holding', timezone: 'Europe/Zurich', reports: 1, pause: null },
];

const hex = (text: string): string => Buffer.from(text.padEnd(16, '.')).toString('hex').slice(0, 32);

/** A typical run. */
export const runOf = (name: string, state: RunState, change: Partial<RunRecord> = {}): RunRecord => ({
  id: hex(name),
  org: 'acme',
  report: 'weekly-kpi',
  slot: '2026-11-16T07:00:00.000Z',
  trigger: 'schedule',
  priority: 'scheduled',
  period: { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' },
  digest: '9f2c4a1be0d34c6d8a17e2f05b6c7d8e9f2c4a1be0d34c6d8a17e2f05b6c7d8e',
  deliver: true,
  createdAt: NOW - 3 * HOUR,
  state,
  startedAt: NOW - 3 * HOUR + 900,
  finishedAt: NOW - 3 * HOUR + 84_000,
  until: null,
  starts: 1,
  attempts: 1,
  losses: { all: 0, stuck: 0, far: 0 },
  calls: { planned: 24, made: 20, saved: 4 },
  timings: { plan: 310, fetch: 61_400, render: 4_200, seal: 240, deliver: 1_900 },
  tokenWaitMs: 31_000,
  files: [
    { name: 'KPIs 2026-W46.xlsx', bytes: 48_211, sha256: 'a'.repeat(64) },
    { name: 'KPIs 2026-W46 onboarding.csv', bytes: 1_204, sha256: 'b'.repeat(64) },
  ],
  deliveries: [],
  error: null,
  reopened: [],
  cancel: null,
  ...change,
});

export const running = runOf('running', 'running', {
  report: 'board-pack',
  trigger: 'on_demand',
  by: 'anna',
  slot: 'trigger:1',
  period: { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: '2026-10' },
  createdAt: NOW - 2 * MINUTE,
  startedAt: NOW - 2 * MINUTE + 400,
  finishedAt: null,
  calls: { planned: 132, made: 0, saved: 0 },
  timings: { plan: 420 },
  files: [],
});
export const live: LiveProgress = {
  stage: 'fetch',
  done: 57,
  of: 132,
  tokens: 3,
  ahead: 4,
  finish: NOW + 3 * MINUTE,
  at: NOW,
};
export const failed = runOf('failed', 'failed', {
  report: 'rfi-ageing',
  createdAt: NOW - 5 * HOUR,
  files: [],
  timings: { plan: 280, fetch: 12_000 },
  error: {
    code: 'api.forbidden',
    message: 'The API key may not read transactions.',
    expected: 'a key with the scope transactions:read',
    got: '403 from POST /v1/metrics',
    next: 'Give the key the scope, then retry the run.',
    correlation_id: '0f3c8d2e',
  },
  reopened: [{ what: 'retry', by: 'anna', reason: 'The key was renewed', at: NOW - 4 * HOUR }],
});
export const held = runOf('held', 'held', { createdAt: NOW - 26 * HOUR });
export const done = runOf('done', 'done', { statuses: { on_target: 5, breached: 1 } });
export const runs: readonly RunRecord[] = [
  running,
  done,
  failed,
  held,
  runOf('partly', 'partly_delivered', { createdAt: NOW - 27 * HOUR }),
  runOf('cancelled', 'cancelled', { createdAt: NOW - 30 * HOUR, by: 'ben', trigger: 'on_demand', files: [] }),
  runOf('skipped', 'skipped', {
    ...{ createdAt: NOW - 50 * HOUR, startedAt: null, finishedAt: null, files: [] },
    error: {
      code: 'run.skipped',
      message: 'The slot was skipped: it was missed, and a later one was opened instead (catch_up: latest).',
      next: 'To catch it up, run `docket run acme/weekly-kpi --period 2026-11-09..2026-11-15`.',
    },
  }),
];

export const unknown: DeliveryRow = {
  id: '0123456789abcdef0123456789abcdef',
  run: done.id,
  org: 'acme',
  report: 'weekly-kpi',
  target: '0-email',
  recipient: 'lead@acme.example',
  state: 'unknown',
  epoch: 1,
  detail: 'The connection broke after the message was handed over.',
  at: NOW - 2 * HOUR,
  decisions: [],
};
export const sent: DeliveryRow = {
  ...unknown,
  id: 'fedcba9876543210fedcba9876543210',
  recipient: 'board@acme.example',
  state: 'sent',
  detail: '250 2.0.0 Ok: queued as 4F1',
};
export const deliveries: readonly DeliveryRow[] = [
  unknown,
  sent,
  { ...sent, id: 'a'.repeat(32), target: '1-s3', recipient: 's3://reports/acme/2026-W46/', detail: null },
];

export const pause: Pause = {
  org: 'acme',
  report: 'rfi-ageing',
  who: 'anna',
  why: 'The figures of the new scope are checked first',
  since: NOW - 20 * HOUR,
  key: null,
  run: null,
};

const slot = (report: string, title: string, at: number, paused = false): SlotEntry => ({
  org: 'acme',
  report,
  title,
  at: new Date(at).toISOString(),
  begins: new Date(at).toISOString(),
  local: '',
  timezone: 'Europe/Zurich',
  schedule: '0 8 * * MON',
  paused,
});
export const slots: readonly SlotEntry[] = [
  slot('daily-queue', 'Alert queue, daily', Date.parse('2026-11-21T17:00:00Z')),
  slot('rfi-ageing', 'RFI ageing', Date.parse('2026-11-22T05:00:00Z'), true),
  slot('daily-queue', 'Alert queue, daily', Date.parse('2026-11-22T17:00:00Z')),
  slot('weekly-kpi', 'Weekly compliance KPIs', Date.parse('2026-11-23T07:00:00Z')),
];

export const text = `# yaml-language-server: $schema=../report.schema.json
version: 1
title: Weekly compliance KPIs
owner: ops@acme.example
schedule: { cron: "0 8 * * MON", timezone: Europe/Zurich, catch_up: latest }
period: previous_week
compare: previous_period
sections:
  - id: onboarding
    title: Onboarding <b>
    metrics: [profiles.created, profiles.decided, profiles.approval_rate]
    granularity: day
    totals: true # of the service
outputs:
  - { format: xlsx, name: "KPIs {{ period.label }}.xlsx" }
deliveries:
  - email: { to: [lead@acme.example], attach: [xlsx] }
`;
const named = (id: string, label: string | null = null) => ({ id, label });
const plain = {
  commentary: null,
  layout: 'table',
  list: null,
  dimensions: [],
  granularity: null,
  filters: [],
  limit: null,
  chart: null,
};
/** More than the definition text has, so that every kind of content is on the page. */
export const outline: ReportOutline = {
  period: 'previous_week',
  compare: ['previous_period'],
  to_date: 'year',
  on_incomplete: 'hold',
  split: null,
  approval: {
    by: ['mlro', 'head-of-compliance'],
    need: 2,
    four_eyes: true,
    within: 2,
    otherwise: 'hold',
  },
  corrections: { watch: '35d', materiality: 0.01, on_correction: 'notify_owner' },
  schedules: [{ words: 'at 08:00, only on Monday', line: '0 8 * * MON', timezone: 'Europe/Zurich' }],
  outputs: [
    { format: 'xlsx', name: 'KPIs {{ period.label }}.xlsx' },
    { format: 'csv', name: null },
  ],
  deliveries: [
    {
      kind: 'email',
      recipients: ['lead@acme.example', 'board@acme.example'],
      formats: ['xlsx'],
      body: 'full',
      send_if: null,
    },
    { kind: 's3', recipients: ['s3://reports/acme/'], formats: ['xlsx', 'csv'], body: null, send_if: 'changed' },
    {
      kind: 'webhook',
      recipients: ['https://hooks.acme.example/kpi'],
      formats: [],
      body: null,
      send_if: 'alerts.open > 10',
    },
  ],
  sections: [
    {
      ...plain,
      id: 'onboarding',
      title: 'Onboarding <b>',
      metrics: [named('profiles.created', 'New clients'), named('profiles.decided'), named('profiles.approval_rate')],
      granularity: 'day',
      chart: 'line',
      commentary: 'required_if_breached',
      period: null,
      compare: null,
    },
    {
      ...plain,
      id: 'risks',
      title: 'Open alerts by risk',
      metrics: [named('alerts.open')],
      dimensions: [named('profile.risk', 'Risk'), named('alert.type')],
      filters: [{ dimension: 'profile.risk', op: 'in', values: ['high', 'medium'] }],
      limit: 20,
      period: 'last_30_days',
      compare: ['previous_year'],
    },
    { ...plain, id: 'files', title: 'Clients', metrics: [], list: 'profiles', period: null, compare: null },
  ],
  targets: [
    {
      ...{ metric: 'profiles.approval_rate', label: null, where: null, per: null, better: 'higher', target: '90%' },
      ...{ watch: '85%', from: null, source: 'organization' },
    },
    {
      ...{ metric: 'alerts.open', label: null, where: { 'profile.risk': 'high' }, per: 'week', better: 'lower' },
      ...{ target: 10, watch: null, from: '2027-01-01', source: 'report' },
    },
  ],
};

const tableOfDays = {
  name: 'Days',
  sheet: 'Board <b>',
  section: 'onboarding',
  columns: [
    { header: 'Day', bound: 'onboarding.bucket' },
    { header: 'New clients', bound: 'onboarding.profiles.created' },
    { header: 'Approval rate.previous', bound: 'onboarding.profiles.approval_rate.previous_period' },
    { header: 'Share', bound: null },
  ],
};
/** A template with an error, so that every kind of problem is on the page. */
export const workbook: TemplateView = {
  template: 'kpis.xlsx',
  tables: [{ ...tableOfDays, range: 'B4:E8' }],
  names: [
    { name: 'docket.period.label', cell: "'Board <b>'!B2", bound: 'period.label' },
    { name: 'docket.onboarding.profiles.created', cell: "'Board <b>'!C2", bound: 'onboarding.profiles.created' },
  ],
  problems: [
    {
      ...{ severity: 'error', code: 'workbook.obstacle', at: "'Board <b>'!B6:C7", message: null },
      ...{ expected: 'no merged cells where the table grows', got: 'merged cells', next: 'Unmerge them.' },
    },
    {
      ...{ severity: 'warning', code: 'workbook.unused', at: null, message: null },
      ...{ expected: 'a table for section “risks”', got: 'a template that shows nothing of it' },
      next: 'Name a table risks.',
    },
  ],
};
/** What a run has filled in this template. */
export const filledWorkbook: NonNullable<FileEntry['workbook']> = {
  template: 'kpis.xlsx',
  sha256: 'c'.repeat(64),
  tables: [{ ...tableOfDays, range: 'B4:E12', rows: 7 }],
  names: workbook.names.map(({ name, cell }) => ({ name, cell })),
};

export const report: ReportDetail = {
  org: 'acme',
  report: 'weekly-kpi',
  title: 'Weekly compliance KPIs',
  schedules: ['0 8 * * MON'],
  scheduleWords: ['at 08:00, only on Monday'],
  pause: null,
  faults: [],
  last: done,
  owner: 'ops@acme.example',
  timezone: 'Europe/Zurich',
  text,
  digest: done.digest,
  slots: slots.slice(3),
  outline,
  workbook,
};

export const budget: BudgetEntry = {
  organizations: ['acme'],
  of: 'metrics',
  calls: 30,
  windowMs: 60_000,
  expected: NOW,
  state: {
    key: 'k_4f1c09ab77de',
    tokens: 3,
    inFlight: 2,
    waiting: 4,
    blockedUntil: null,
    throttled: 0,
    limit: 30,
    slowedUntil: null,
  },
};

export const files: readonly FileEntry[] = [
  ...done.files.map((file, index) => ({
    ...{ ...file, kind: 'file' as const, type: 'application/octet-stream' },
    ...(index === 0 ? { workbook: filledWorkbook } : {}),
  })),
  { name: 'mail.html', kind: 'mail', type: 'text/html', bytes: null, sha256: null },
];

export const heldPack: HeldRun = {
  missing: [
    { section: 'onboarding', title: 'Onboarding', code: 'truncated', text: '12 of 30 countries are shown.' },
    { section: 'alerts', title: null, code: 'missing', text: 'No figures for 14 November.' },
  ],
  recipients: [
    { target: '0-email', recipient: 'lead@acme.example', receives: true, why: null },
    {
      target: '0-email',
      recipient: 'board@elsewhere.example',
      receives: false,
      why: 'It is not among the recipients.',
    },
    { target: '1-s3', recipient: 's3://reports/acme/2026-W46/', receives: true, why: null },
  ],
  error: null,
};

const TITLES: Readonly<Record<string, string>> = {
  'weekly-kpi': 'Weekly compliance KPIs',
  'rfi-ageing': 'RFI ageing',
  'board-pack': 'Board pack',
};

export const received: readonly ReceivedDelivery[] = deliveries.map((row) => ({
  row,
  period: done.period,
  title: 'Weekly compliance KPIs',
  content: row.target === '0-email' ? { kind: 'mail', formats: ['xlsx'] } : null,
}));

const BOARD_CONTENT = 'ab12cd34'.repeat(8);
export const inReview = runOf('in-review', 'awaiting_approval', {
  report: 'board-pack',
  by: 'cleo',
  trigger: 'on_demand',
  slot: 'trigger:2',
  period: { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: '2026-10' },
  files: [],
});
const actor = (person: string, name: string) => ({ person, name, principal: `token:${person}` });
/** A board pack that waits for the second of two approvals, with a comment, a draft and a section without either. */
export const reviewView: ReviewView = {
  record: inReview,
  state: {
    seq: 3,
    phase: 'approval',
    figures: 'f'.repeat(64),
    content: BOARD_CONTENT,
    comments: [
      {
        section: 'onboarding',
        text: '*{{ onboarding.profiles.created }}* new clients, {{ onboarding.profiles.created.change }}.\n\n- <b>Not</b> markup\n- =1+1',
        by: actor('cleo', 'Cleo Frei'),
        at: NOW - 40 * MINUTE,
        version: 2,
      },
    ],
    missingComments: [],
    approvals: [{ by: actor('dan', 'Dan Roth'), at: NOW - 9 * MINUTE, reason: 'Figures agree with the register' }],
    need: 2,
    delegations: [],
    authors: [actor('cleo', 'Cleo Frei')],
    since: NOW - 40 * MINUTE,
  },
  sections: [
    {
      id: 'onboarding',
      title: 'Onboarding',
      required: true,
      references: [
        { reference: '{{ onboarding.profiles.created }}', label: 'Profiles created', text: '412' },
        { reference: '{{ onboarding.profiles.created.change }}', label: 'Profiles created', text: '+3.0%' },
        { reference: '{{ onboarding.profiles.created.previous }}', label: 'Profiles created', text: '400' },
        { reference: '{{ onboarding.profiles.created.status }}', label: 'Profiles created', text: 'on target' },
        { reference: '{{ onboarding.profiles.approval_rate }}', label: 'Approval rate', text: '91.2%' },
        { reference: '{{ onboarding.profiles.approval_rate.change }}', label: 'Approval rate', text: '−0.4 pp' },
        { reference: '{{ onboarding.profiles.approval_rate.previous }}', label: 'Approval rate', text: '91.6%' },
      ],
    },
    {
      id: 'alerts',
      title: 'Alerts by week',
      required: false,
      references: [{ reference: '{{ alerts.alerts.created }}', label: 'Alerts created', text: '77' }],
    },
    {
      id: 'screening',
      title: 'Screening hits',
      required: false,
      references: [{ reference: '{{ screening.screening.hits }}', label: 'Hits', text: '1,204' }],
    },
  ],
  packs: [],
  drafts: [
    {
      section: 'alerts',
      kind: 'comment',
      text: 'Quiet: a second analyst has joined.',
      author: 'Cleo Frei',
      period: '2026-09',
      run: done.id,
    },
  ],
  files: [
    { name: 'Board pack 2026-10.pdf', bytes: 812_004 },
    { name: 'Board pack 2026-10.xlsx', bytes: 148_211 },
  ],
  due: NOW + 26 * HOUR,
  reviewers: ['anna', 'Eva Meier'],
  deputies: [],
  refusal: null,
  delivered: null,
  canReject: true,
  history: [
    { section: 'onboarding', text: 'First words', by: 'Cleo Frei', at: NOW - 50 * MINUTE },
    { section: 'onboarding', text: 'Second words', by: 'Cleo Frei', at: NOW - 40 * MINUTE },
  ],
};

/** A correction that waits for a decision: a count, a ratio and a duration, one of them immaterial. */
export const correctionView: CorrectionView = {
  id: `${done.id}-1`,
  run: { id: done.id, org: 'acme', report: 'weekly-kpi' },
  number: 1,
  state: 'open',
  foundAt: NOW - 50 * MINUTE,
  changes: [
    {
      section: 'onboarding',
      metric: 'profiles.created',
      bucket: null,
      group: null,
      before: 412,
      after: 431,
      statusBefore: 'watch',
      statusAfter: 'on_target',
    },
    {
      section: 'onboarding',
      metric: 'profiles.approval_rate',
      bucket: '2026-11-10',
      group: { dimension: 'profile.risk', value: 'high <b>' },
      before: 0.912,
      after: 0.8975,
    },
    {
      section: 'onboarding',
      metric: 'profiles.time_to_decision_p50',
      bucket: null,
      group: null,
      before: 93_600,
      after: null,
    },
  ],
  material: 2,
  total: 140,
  notified: true,
  decision: null,
  title: 'Weekly compliance KPIs',
  period: done.period,
  deliveredAt: NOW - 2 * HOUR,
  recipients: [
    { target: '0-email', recipient: 'lead@acme.example', receives: true, why: null, marked: true },
    {
      target: '0-email',
      recipient: 'left@elsewhere.example',
      receives: false,
      why: 'It is not allowed.',
      marked: true,
    },
  ],
  sections: [
    {
      id: 'onboarding',
      title: 'Onboarding',
      units: {
        'profiles.created': 'count',
        'profiles.approval_rate': 'ratio',
        'profiles.time_to_decision_p50': 'seconds',
      },
    },
  ],
};
export const corrections: readonly Correction[] = [
  correctionView,
  {
    ...correctionView,
    id: `${held.id}-2`,
    run: { ...correctionView.run, id: held.id },
    state: 'sent',
    total: 2,
    decision: { at: NOW - 3 * HOUR, by: 'anna', reason: 'The auditor asked', run: running.id },
  },
  { ...correctionView, id: `${failed.id}-1`, state: 'withdrawn', total: 2 },
];

const processReport: ProcessReport = {
  self: 'docket-a:17:0f3c8d2e',
  host: 'docket-a',
  roles: ['worker', 'scheduler'],
  version: '0.3.0',
  started: NOW - 30 * HOUR,
  at: NOW - 9_000,
  definitions: { digest: '9f2c4a1be0d34c6d', reports: 4, unreadable: null },
  failing: [],
};
/** Two processes with equal definitions, and one with other definitions and an unusable archive. */
export const processReports: readonly ProcessReport[] = [
  processReport,
  { ...processReport, self: 'docket-b:21:1a2b3c4d', host: 'docket-b', roles: ['admin'] },
  {
    ...processReport,
    self: 'docket-c:9:5e6f7a8b',
    host: 'docket-c',
    roles: ['worker'],
    definitions: { digest: '00aa4a1be0d34c6d', reports: 3, unreadable: null },
    failing: [{ name: 'archive', detail: 'read-only file system', since: NOW - 2 * HOUR }],
  },
];

const at = (ms: number): string => new Date(NOW + ms).toISOString();
const forecastRun: ForecastDocument['runs'][number] = {
  ...{ report: 'acme/weekly-kpi', key: 'k_4f2a', slot: at(HOUR), calls: 14, prepared: 12, tokens: 3, begins: at(HOUR) },
  ...{ ready: at(HOUR + 60_000), delivered: at(HOUR + 65_000), late_at: at(1.5 * HOUR), late: false, run: null },
  actual: null,
  foreseen: null,
};
/** One late report, one on time, and one that was delivered. */
export const sampleForecast: ForecastDocument = {
  ...{ from: at(0), to: at(24 * HOUR), paused: ['acme/rfi-ageing'] },
  assumptions: {
    ...{ processes: 2, concurrency: 4, call_seconds: 0.5, render_seconds: 3, delivery_seconds: 2, measured_reports: 1 },
  },
  runs: [
    { ...forecastRun, run: done.id, actual: at(HOUR + 67_000), foreseen: at(HOUR + 66_000) },
    forecastRun,
    { ...forecastRun, report: 'acme/board-pack', late: true, delivered: at(2 * HOUR) },
  ],
  keys: [
    {
      ...{ key: 'k_4f2a0c11', organizations: ['acme'], limit: 30, window_seconds: 60, tokens: 44, full_at: at(HOUR) },
      other_organizations: { calls: 7 },
      minutes: [
        { at: at(HOUR), tokens: 30 },
        { at: at(HOUR + 60_000), tokens: 14 },
      ],
    },
  ],
  late_slots: [
    {
      ...{ key: 'k_4f2a0c11', slot: at(HOUR), reports: 2, calls: 28, late: 1, last: at(2 * HOUR) },
      advice: { prepare_minutes: 30, reports: ['acme/board-pack'] },
      concurrency: null,
    },
  ],
  unplanned: [{ report: 'acme/daily-queue', slots: 1, why: 'No metric catalog of acme is cached.' }],
};

/** All of this data as a principal sees it. Actions do nothing. */
export function sampleAccess(principal: Principal, change: Partial<Access> = {}): Access {
  const newsOf = (record: RunRecord): RunSnapshot => ({ record, live: record.state === 'running' ? live : null });
  const find = (id: string): RunRecord => {
    const found = runs.find((run) => run.id === id);
    if (found === undefined) throw new Error(`no run ${id}`);
    return found;
  };
  const deliveriesOf: Access['deliveries'] =
    change.deliveries ??
    (async ({ state, run }) => ({
      deliveries: deliveries.filter(
        (row) => (state === undefined || row.state === state) && (run === undefined || row.run === run),
      ),
      next: null,
    }));
  const none = async () => {
    throw new Error('nothing is done here');
  };
  return {
    principal,
    kindLabels: kindLabels(BUILT_IN_KINDS),
    organizations: async () => organizations,
    reports: async () => ({
      next: null,
      reports: [
        report,
        { ...report, report: 'rfi-ageing', title: 'RFI ageing', pause, last: failed },
        {
          ...report,
          report: 'board-pack',
          title: 'Board pack',
          schedules: [],
          scheduleWords: [],
          last: running,
          faults: ['acme/board-pack.yaml:3:1: no'],
        },
      ],
    }),
    report: async (_, name) => ({
      ...report,
      report: name,
      ...(name === 'rfi-ageing' ? { pause, title: 'RFI ageing' } : {}),
    }),
    titleOf: (org, name) => (org === 'acme' ? TITLES[name] : undefined),
    periods: async (_, __, specs) => specs.map((spec) => resolvePeriod(spec ?? 'previous_week', NOW, 'Europe/Zurich')),
    slots: async () => slots,
    explain: none,
    validate: none,
    trigger: none,
    runs: async ({ states, report: name }) => ({
      runs: runs.filter((run) => (states?.includes(run.state) ?? true) && (name === undefined || run.report === name)),
      next: null,
    }),
    runCounts: async ({ match, to, error, period } = {}) =>
      [match, to, error, period].some((part) => part !== undefined)
        ? null
        : (Object.fromEntries(
            RUN_STATES.map((state) => [state, runs.filter((run) => run.state === state).length]),
          ) as StateCounts),
    waitingByPriority: async () => ({ on_demand: 2, scheduled: 40, backfill: 0 }),
    processes: async () => ({ reports: processReports, silent: [{ self: 'old-1:88:ab', roles: ['worker'] }] }),
    run: async (id) => find(id),
    audit: async () => ({ entries: [], next: null }),
    received: async () => ({ deliveries: received, next: null }),
    watch: async function* (id) {
      yield newsOf(find(id));
    },
    decide: none,
    file: none,
    deliveries: deliveriesOf,
    timeline: async (id) => {
      const record = await (change.run ?? (async () => find(id)))(id);
      const { deliveries: rows } = await deliveriesOf({ run: record.id, limit: 1 });
      const { live: now } = newsOf(record);
      const waits = waitReason({ record, live: now, pause: undefined, workers: 1 });
      return {
        entries: buildTimeline({ record, live: now, rows, history: NO_HISTORY, waits }),
        waits,
        earlier: null,
      };
    },
    filesZip: none,
    resolveMany: none,
    previewSelection: none,
    selection: none,
    decideSelection: none,
    files: async () => files,
    preview: none,
    review: async () => null,
    sendTo: none,
    openCorrection: none,
    addedRecipients: async () => [],
    decideRecipient: none,
    correctionSummaries: async () => [],
    denials: async () => [],
    isDenied: async () => () => false,
    mentions: async () => [],
    deny: none,
    allow: none,
    switches: async () => [],
    stoppedRuns: async () => [],
    setSwitch: none,
    releaseSwitch: none,
    corrections: async () => [],
    correction: none,
    sendCorrection: none,
    dismissCorrection: none,
    reviewFile: () => Promise.reject(new Error('not here')),
    reviewPreview: () => Promise.reject(new Error('not here')),
    comment: () => Promise.reject(new Error('not here')),
    approve: () => Promise.reject(new Error('not here')),
    reject: () => Promise.reject(new Error('not here')),
    delegate: () => Promise.reject(new Error('not here')),
    heldRun: async (id) =>
      id === inReview.id || runs.some((run) => run.id === id && run.state === 'held') ? heldPack : null,
    delivery: async (id) => deliveries.find((row) => row.id === id) ?? unknown,
    resolve: none,
    pauses: async () => [pause],
    readings: async () => [],
    deploymentProblems: async () => [],
    pause: none,
    resume: none,
    budgets: async () => ({
      budgets: [
        budget,
        {
          ...budget,
          organizations: ['globex'],
          state: { ...budget.state, key: 'k_00aa', tokens: 30, inFlight: 0, waiting: 0 },
        },
      ],
      unknown: [],
    }),
    forecast: async () => sampleForecast,
    ...change,
  };
}
