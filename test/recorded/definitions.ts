/** Seconds; a token comes back this long after its answer. Longer than a run waits in place, so that it snoozes. */
const SLOW_WINDOW_S = 20;

const org = (name: string, key: string, more: string): string => `version: 1
name: ${name}
org: current
api_key: { env: ${key} }
timezone: Etc/UTC
recipients: { domains: [${name.toLowerCase()}.example] }
${more}`;

const FIGURES = '  - { id: figures, metrics: [profiles.created, profiles.decided], totals: true }';
const BY_DAY = '  - { id: days, metrics: [profiles.created], granularity: day }';
const BY_TYPE = '  - { id: types, metrics: [profiles.decided], dimensions: [profile.type] }';
const SCORECARD = `  - id: scorecard
    layout: scorecard
    metrics: [profiles.created, profiles.approval_rate, profiles.time_to_decision_p50]
    compare: [previous_period, previous_year]
    commentary: { required: true }`;
const REVIEW = 'approval: { by: [approver], four_eyes: true }';
const BY_RISK = '  - { id: risks, metrics: [screening.hits], dimensions: [hit.kind] }';

interface ReportOptions {
  readonly org?: string;
  readonly sections?: readonly string[];
  readonly deliveries: readonly string[];
  readonly formats?: readonly string[];
  readonly period?: string;
  readonly more?: readonly string[];
}

const report = (title: string, options: ReportOptions): string => {
  const { org = 'acme', sections = [FIGURES], deliveries, formats = ['csv'], period = 'previous_week' } = options;
  return `version: 1
title: ${title}
owner: owner@${org}.example
period: ${period}
sections:
${sections.join('\n')}
outputs: [${formats.map((format) => `{ format: ${format} }`).join(', ')}]
deliveries:
${deliveries.map((delivery) => `  - ${delivery}`).join('\n')}
${(options.more ?? []).map((line) => `${line}\n`).join('')}`;
};

const mailTo = (...to: string[]): string => `email: { to: [${to.join(', ')}], attach: [csv] }`;

export interface RecordedTimes {
  /** Cron of the reports that are due once an hour. */
  readonly hourly: string;
  /** `HH:mm` in UTC at which the current counts are read. */
  readonly readAt: string;
}

/** The reports of the recording, path → content. */
export function recordedDefinitions({ hourly, readAt }: RecordedTimes): Readonly<Record<string, string>> {
  const scheduled = (catchUp: string) => [`schedule: { cron: "${hourly}", timezone: Etc/UTC, catch_up: ${catchUp} }`];
  return {
    'acme/org.yaml': org(
      'Acme',
      'ACME_KEY',
      `destinations: { folders: [out] }
budget: { calls: 1000, window: 1 }
retention_days: 365
readings: { at: "${readAt}", metrics: [alerts.open, reviews.overdue] }
people:
  writer: { name: Wanda Writer, tokens: [recorder] }
  approver: { name: Ada Approver, tokens: [approver] }
`,
    ),
    'acme/targets.yaml': `version: 1
targets:
  - { metric: profiles.created, per: week, better: higher, target: 100, watch: 90 }
  - { metric: profiles.approval_rate, better: higher, target: 90%, watch: 85% }
`,
    'acme/approval.yaml': report('Waits for approval', {
      sections: [SCORECARD],
      formats: ['xlsx', 'pdf', 'csv'],
      deliveries: ['email: { to: [board@acme.example], attach: [xlsx, pdf] }'],
      more: [REVIEW],
    }),
    'acme/comment.yaml': report('Waits for a comment', {
      sections: [SCORECARD],
      deliveries: [mailTo('lead@acme.example')],
      more: [REVIEW],
    }),
    'acme/delivered.yaml': report('Delivered', {
      sections: [FIGURES, BY_DAY],
      formats: ['xlsx', 'csv'],
      deliveries: [mailTo('lead@acme.example'), 'directory: { path: "out/{{ period.label }}" }'],
    }),
    'acme/partly.yaml': report('Delivered in part', {
      deliveries: [mailTo('lead@acme.example', 'refused@acme.example')],
    }),
    'acme/failed.yaml': report('Failed after one of two deliveries', {
      deliveries: [mailTo('lead@acme.example', 'deferred@acme.example')],
      more: ['deadline: 1m'],
    }),
    'acme/uncertain.yaml': report('Reply lost', {
      deliveries: [mailTo('lost-1@acme.example', 'lost-2@acme.example')],
    }),
    'acme/killed.yaml': report('Worker killed while the mail was sent', {
      deliveries: [mailTo('hangs@acme.example', 'lead@acme.example')],
    }),
    'acme/held.yaml': report('Held', {
      // Before the first day of which the service has figures.
      period: '{ from: 2015-01-05, to: 2015-01-11 }',
      deliveries: [mailTo('lead@acme.example')],
      more: ['on_incomplete: hold'],
    }),
    'acme/queued.yaml': report('Queued', { deliveries: [mailTo('lead@acme.example')] }),
    'acme/cancelled.yaml': report('Cancelled', { deliveries: [mailTo('lead@acme.example')] }),
    'acme/inline.yaml': report('Made by docket run', { deliveries: [mailTo('lead@acme.example')] }),
    'acme/alone.yaml': report('Made by docket run without Redis', { deliveries: [mailTo('lead@acme.example')] }),
    'acme/history.yaml': report('Backfilled', {
      period: 'previous_month',
      deliveries: [mailTo('lead@acme.example')],
    }),
    'acme/changed.yaml': report('Sent when it has changed', {
      deliveries: [`${mailTo('lead@acme.example')}\n    send_if: changed`],
    }),
    'acme/hourly.yaml': report('Hourly', { deliveries: [mailTo('lead@acme.example')], more: scheduled('latest') }),
    'acme/skipping.yaml': report('Skips what it missed', {
      deliveries: [mailTo('lead@acme.example')],
      more: scheduled('skip'),
    }),
    'acme/paused.yaml': report('Paused', { deliveries: [mailTo('lead@acme.example')], more: scheduled('latest') }),
    'lakeside/org.yaml': org('Lakeside', 'LAKESIDE_KEY', `budget: { calls: 3, window: ${SLOW_WINDOW_S} }\n`),
    'lakeside/snoozed.yaml': report('Waits for tokens', {
      org: 'lakeside',
      sections: [FIGURES, BY_DAY, BY_TYPE, BY_RISK],
      deliveries: [mailTo('lead@lakeside.example')],
    }),
    'northwind/org.yaml': org(
      'Northwind',
      'NORTHWIND_KEY',
      'budget: { calls: 1000, window: 1 }\nallow_private: true\nsmtp: { url: { env: NORTHWIND_SMTP }, from: reports@northwind.example }\n',
    ),
    // The variable, not its value, names the receiver in the ledger and in the circuit: its port may be another one.
    'northwind/hook.yaml': report('By webhook', {
      org: 'northwind',
      deliveries: ['webhook: { url: { env: NORTHWIND_HOOK }, secret: { env: NORTHWIND_HOOK_SECRET } }'],
    }),
    'northwind/refused.yaml': report('Refused key', {
      org: 'northwind',
      deliveries: ['webhook: { url: { env: NORTHWIND_HOOK }, secret: { env: NORTHWIND_HOOK_SECRET } }'],
    }),
  };
}

/** What the mail server of the recording does to whom. */
export const TREATMENTS = {
  'refused@acme.example': 'refuse',
  'deferred@acme.example': 'defer',
  'lost-1@acme.example': 'drop',
  'lost-2@acme.example': 'drop',
  'hangs@acme.example': 'hang',
} as const;

/** Made up; it signs webhooks of the recording. */
export const HOOK_SECRET = `whsec_${Buffer.from('made up for the recording').toString('base64')}`;
