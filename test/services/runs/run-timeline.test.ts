import { describe, expect, it } from 'vitest';
import { NOTICE_TARGET } from '../../../src/deliver/ledger/ledger.ts';
import { type RunRecord, runStatus } from '../../../src/run/run-record.ts';
import type { DeliveryRow } from '../../../src/services/deliveries/decisions.ts';
import { type DeliveryEvent, NO_HISTORY } from '../../../src/services/runs/run-history.ts';
import { groupTimeline } from '../../../src/services/runs/timeline/group-timeline.ts';
import { buildTimeline, type TimelineInput } from '../../../src/services/runs/timeline/run-timeline.ts';
import type { TimelineEntry } from '../../../src/services/runs/timeline/timeline-entry.ts';
import { pauseOfRun, waitReason } from '../../../src/services/runs/timeline/wait-reason.ts';
import { live, NOW, pause, running, runOf, unknown } from '../../support/page-data.ts';

const timeline = (record: RunRecord, change: Partial<TimelineInput> = {}) =>
  buildTimeline({ record, live: null, rows: [], history: NO_HISTORY, waits: null, ...change });
const kinds = (entries: readonly TimelineEntry[]) => entries.map(({ kind }) => kind);
const row = (recipient: string, state: DeliveryRow['state'], change: Partial<DeliveryRow> = {}): DeliveryRow => ({
  ...unknown,
  id: Buffer.from(recipient.padEnd(16, '.')).toString('hex').slice(0, 32),
  recipient,
  state,
  detail: `answer to ${recipient}`,
  at: NOW - 1_000,
  ...change,
});
const STAGE_ENDS = { plan: NOW - 9_000, fetch: NOW - 8_000, render: NOW - 7_000, seal: NOW - 6_000, deliver: NOW };
const START = {
  createdAt: NOW - 20_000,
  startedAt: NOW - 10_000,
  finishedAt: NOW,
  slot: new Date(NOW - 20_000).toISOString(),
  timings: { plan: 100, fetch: 2_000, render: 500, seal: 100, deliver: 300 },
};

describe('the timeline of a run', () => {
  it('has each step in order, with its time, duration and reply', () => {
    const entries = timeline(runOf('done', 'done', { ...START, stageEnds: STAGE_ENDS, finishedAt: NOW }), {
      rows: [row('a@acme.example', 'sent'), row('owner@acme.example', 'sent', { target: NOTICE_TARGET, at: NOW + 5 })],
    });
    expect(kinds(entries)).toEqual([
      'triggered',
      'started',
      'tokens',
      'fetched',
      'rendered',
      'archived',
      'delivery',
      'ended',
      'notice',
    ]);
    expect(entries.find(({ kind }) => kind === 'fetched')).toMatchObject({ at: STAGE_ENDS.fetch, ms: 2_000 });
    expect(entries.find(({ kind }) => kind === 'fetched')?.text).toMatch(/24 calls .*4 .*cache/);
    expect(entries.find(({ kind }) => kind === 'tokens')).toMatchObject({ ms: 31_000 });
    expect(entries.find(({ kind }) => kind === 'delivery')).toMatchObject({
      outcome: 'ok',
      recipient: 'a@acme.example',
      detail: 'answer to a@acme.example',
    });
    expect(entries.every(({ outcome }) => outcome === 'ok')).toBe(true);
  });

  it('says who triggered the run, and how late a slot was opened', () => {
    const by = timeline(runOf('by', 'queued', { trigger: 'on_demand', by: 'anna', startedAt: null, timings: {} }));
    expect(by[0]).toMatchObject({ kind: 'triggered', by: 'anna' });
    const late = (ms: number) =>
      timeline(runOf('late', 'queued', { createdAt: NOW, slot: new Date(NOW - ms).toISOString() }))[0]?.text;
    expect(late(0)).not.toContain('after its slot');
    expect(late(60_000)).toContain('1 minute after its slot');
    expect(late(2 * 3_600_000)).toContain('2 hours after its slot');
    expect(late(3 * 86_400_000)).toContain('3 days after its slot');
  });

  it('counts attempts and worker crashes', () => {
    const text = (change: Partial<RunRecord>) =>
      timeline(runOf('tried', 'done', { ...START, ...change })).find(({ kind }) => kind === 'started')?.text;
    expect(text({})).not.toMatch(/attempt|crash/);
    expect(text({ attempts: 3, losses: { all: 2, stuck: 1, far: 5 } })).toMatch(/3 attempts.*2 worker crashes/);
  });

  it('derives the ends of stages from the start of an older record, unless it was interrupted', () => {
    const record = runOf('old', 'done', START);
    const at = (of: RunRecord) => timeline(of).find(({ kind }) => kind === 'fetched')?.at;
    expect(at(record)).toBe(START.startedAt + 100 + 2_000);
    expect(at({ ...record, starts: 2 })).toBeNull();
    const made = timeline({ ...record, starts: 2 }, { history: { madeAt: NOW - 5, events: [], review: [] } });
    expect(made.find(({ kind }) => kind === 'rendered')?.at).toBe(NOW - 5);
  });

  it.each([
    ['plan', { plan: 1 }, 'fetched'],
    ['fetch', { plan: 1, fetch: 2 }, 'fetched'],
    ['render', { plan: 1, fetch: 2, render: 3 }, 'rendered'],
    ['seal', { plan: 1, fetch: 2, render: 3, seal: 4 }, 'archived'],
  ] as const)('shows that the run failed at %s', (_, timings, kind) => {
    const error = { code: 'api.forbidden', message: 'No scope.' } as const;
    const failed = timeline(runOf('failed', 'failed', { ...START, timings, error })).filter(
      ({ outcome }) => outcome === 'failed',
    );
    expect(kinds(failed)).toEqual([kind, 'ended']);
    expect(failed.at(-1)?.detail).toBe('No scope.');
  });

  it('keeps the reply before a decision, then shows the decision and the next reply', () => {
    const one = row('a@acme.example', 'sent', {
      epoch: 3,
      at: NOW,
      decisions: [{ to: 'pending', by: 'anna', reason: 'not there', at: NOW - 5_000 }],
    });
    const event = (state: DeliveryEvent['state'], at: number): DeliveryEvent => ({
      delivery: one.id,
      state,
      detail: `${state} then`,
      at,
    });
    const record = runOf('again', 'done', {
      ...START,
      startedAt: NOW - 4_000,
      finishedAt: NOW + 1,
      stageEnds: { ...STAGE_ENDS, deliver: NOW },
      reopened: [{ what: 'resend', by: 'anna', reason: 'not there', at: NOW - 4_999 }],
    });
    const entries = timeline(record, {
      rows: [one],
      history: { madeAt: null, review: [], events: [event('unknown', NOW - 5_500), event('sent', NOW)] },
    });
    expect(kinds(entries).slice(-6)).toEqual([
      'delivery',
      'delivery_decision',
      'decision',
      'started',
      'delivery',
      'ended',
    ]);
    expect(entries.filter(({ kind }) => kind === 'delivery').map(({ outcome }) => outcome)).toEqual([
      'uncertain',
      'ok',
    ]);
    expect(entries.find(({ kind }) => kind === 'delivery_decision')).toMatchObject({
      by: 'anna',
      detail: 'not there',
      recipient: 'a@acme.example',
    });
    // The reason is shown once, with the delivery.
    expect(entries.find(({ kind }) => kind === 'decision')).toMatchObject({ by: 'anna', detail: null });
    // Without the archive the first reply is unknown. The rest stays in order.
    expect(kinds(timeline(record, { rows: [one] })).slice(-5)).toEqual([
      'delivery_decision',
      'decision',
      'started',
      'delivery',
      'ended',
    ]);
  });

  it('prefers the ledger if the archive has only the start of an attempt', () => {
    const one = row('a@acme.example', 'unknown', { epoch: 3, at: NOW });
    const events: DeliveryEvent[] = [{ delivery: one.id, state: 'sending', detail: null, at: NOW - 9 }];
    const entries = timeline(runOf('dead', 'partly_delivered', START), {
      rows: [one],
      history: { madeAt: null, events, review: [] },
    });
    expect(entries.filter(({ kind }) => kind === 'delivery')).toMatchObject([{ outcome: 'uncertain', at: NOW }]);
  });

  it('says who marked a delivery as sent, and shows no reply of a server', () => {
    const one = row('a@acme.example', 'sent', {
      at: NOW,
      decisions: [{ to: 'sent', by: 'ben', reason: 'phone', at: NOW }],
    });
    const entries = timeline(runOf('told', 'done', START), { rows: [one] });
    expect(kinds(entries.filter(({ delivery }) => delivery !== null))).toEqual(['delivery_decision']);
  });

  it.each([
    ['held', {}, ['held', 'waiting']],
    ['skipped', { startedAt: null, timings: {} }, ['ended', 'failed']],
    ['cancelled', {}, ['ended', 'ok']],
    ['partly_delivered', { deliveries: [{ state: 'unknown' }] }, ['ended', 'uncertain']],
    ['partly_delivered', { deliveries: [{ state: 'sent' }, { state: 'unknown' }] }, ['ended', 'failed']],
  ] as const)('ends for a run that is %s (%#)', (state, change, [kind, outcome]) => {
    const entries = timeline(runOf('end', state, { ...START, ...change } as Partial<RunRecord>));
    expect(entries.at(-1)).toMatchObject({ kind, outcome });
  });

  it('ends with what the run is doing or waiting for', () => {
    expect(timeline(running, { live: { ...live, ahead: null } }).at(-1)).toMatchObject({ kind: 'active', at: null });
    const waits = { for: 'retry', text: 'Waiting', detail: 'The service answered 503.', until: NOW + 9 } as const;
    expect(timeline(runOf('w', 'waiting', { ...START, finishedAt: null }), { waits }).at(-1)).toMatchObject({
      kind: 'waiting',
      detail: 'The service answered 503.',
      until: NOW + 9,
    });
  });

  it('groups many deliveries with the same result between two other steps', () => {
    const rows = Array.from({ length: 9 }, (_, index) =>
      row(`r${index}@acme.example`, index % 3 === 0 ? 'unknown' : 'sent', { at: NOW - 1_000 + index }),
    );
    const groups = groupTimeline(timeline(runOf('many', 'partly_delivered', { ...START, finishedAt: NOW }), { rows }));
    const deliveries = groups.filter(({ head }) => head.kind === 'delivery');
    // Three unknown deliveries are shown one by one, six sent ones as a group.
    expect(deliveries.map(({ entries }) => entries.length)).toEqual([1, 1, 1, 6]);
    expect(groups.flatMap(({ entries }) => entries)).toHaveLength(groups.length - 1 + 6);
  });
});

describe('the status of a run', () => {
  const by = { by: 'ben', reason: 'wrong', at: NOW };
  it.each([
    [{ state: 'running', cancel: by, deliveries: [] }, 'cancelling'],
    [{ state: 'cancelled', cancel: by, deliveries: [] }, 'cancelled'],
    [{ state: 'partly_delivered', cancel: null, deliveries: ['sent', 'unknown'] }, 'partly_delivered'],
    [{ state: 'partly_delivered', cancel: null, deliveries: ['unknown', 'refused'] }, 'delivery_unknown'],
    [{ state: 'partly_delivered', cancel: null, deliveries: [] }, 'partly_delivered'],
    [{ state: 'failed', cancel: null, deliveries: ['refused'] }, 'failed'],
  ] as const)('of %j is %s', ({ state, cancel, deliveries }, status) => {
    const known = deliveries.map((each) => ({ target: '0-email', recipient: 'a', state: each, detail: null }));
    expect(runStatus({ state, cancel, deliveries: known })).toBe(status);
  });
});

describe('the reason for which a run waits', () => {
  const waiting = runOf('waiting', 'waiting', { finishedAt: null, until: NOW + 60_000 });
  const reason = (record: RunRecord, change: Partial<Parameters<typeof waitReason>[0]> = {}) =>
    waitReason({ record, live: null, pause: undefined, workers: 1, ...change });

  it.each([
    [reason(runOf('q', 'queued')), { for: 'worker', until: null }],
    [reason(runOf('q', 'queued'), { workers: 0 }), { for: 'no_worker', until: null, detail: expect.any(String) }],
    [reason(runOf('q', 'queued'), { workers: null }), { for: 'worker' }],
    [reason(runOf('c', 'queued', { trigger: 'cli' }), { workers: 0 }), { for: 'command' }],
    [reason(waiting, { pause }), { for: 'pause', detail: expect.stringContaining(pause.why), until: null }],
    [reason({ ...waiting, trigger: 'on_demand' }, { pause }), { for: 'other', until: NOW + 60_000 }],
    [
      reason({ ...waiting, waitingFor: { until: NOW + 60_000, why: 'waiting for the API budget' } }),
      { for: 'other', text: 'Waiting for the API budget', until: NOW + 60_000 },
    ],
    [
      // The reason of an earlier snooze: another process has written the record since then.
      reason({
        ...waiting,
        waitingFor: { until: NOW, why: 'waiting for the API budget' },
        error: { code: 'api.unavailable', message: 'The service answered 503.' },
      }),
      { for: 'retry', detail: 'The service answered 503.' },
    ],
    [reason(running, { workers: 0 }), { for: 'no_worker' }],
    [reason({ ...running, trigger: 'cli' }, { workers: 0 }), null],
    [reason(running), null],
    [reason(running, { live }), { for: 'tokens', until: live.finish }],
    [reason(running, { live: { ...live, ahead: null } }), null],
    [reason(runOf('d', 'done')), null],
  ])('is known (%#)', (found, expected) => {
    if (expected === null) expect(found).toBeNull();
    else expect(found).toMatchObject(expected);
  });

  it('is the pause of its report or organization', () => {
    const own = { ...pause, report: waiting.report };
    expect(pauseOfRun([pause, own], waiting)).toBe(own);
    expect(pauseOfRun([{ ...pause, report: null }], waiting)).toMatchObject({ report: null });
    expect(pauseOfRun([pause, { ...own, org: 'globex' }], waiting)).toBeUndefined();
  });
});
