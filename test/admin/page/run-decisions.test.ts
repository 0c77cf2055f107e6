import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Access } from '../../../src/admin/access/access.ts';
import { DocketError } from '../../../src/base/error.ts';
import { NOTICE_TARGET } from '../../../src/deliver/ledger/ledger.ts';
import type { RunRecord } from '../../../src/run/run-record.ts';
import type { DeliveryRow } from '../../../src/services/deliveries/decisions.ts';
import { createToken } from '../../support/authenticated-app.ts';
import { openPage } from '../../support/open-page.ts';
import { done, files, held, heldPack, live, NOW, pause, running, runOf, unknown } from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const anna = createToken('anna');
const ben = createToken('ben', { role: 'viewer' });
const prefix = randomPrefix();
let redis: Redis;
beforeAll(() => {
  redis = new Redis(inject('redisUrl'));
});
afterAll(() => redis.quit());

const row = (index: number, state: DeliveryRow['state'], change: Partial<DeliveryRow> = {}): DeliveryRow => ({
  ...unknown,
  id: String(index).padStart(32, '0'),
  recipient: `r${index}@acme.example`,
  state,
  ...change,
});
const partly = runOf('partly', 'partly_delivered');
const earlier = { run: done.id, period: done.period, at: NOW - 9_000, sent: { email: 3 }, uncertain: 1 };

interface Shown {
  readonly record?: RunRecord;
  readonly rows?: readonly DeliveryRow[];
  readonly change?: Partial<Access>;
  readonly token?: string;
}

const visit = async ({ record = partly, rows = [], change = {}, token = anna.token }: Shown) => {
  const { visit: enter } = openPage({ redis, prefix }, [anna.entry, ben.entry], () => ({
    run: async () => record,
    watch: async function* () {
      yield { record, live: record.state === 'running' ? live : null };
    },
    deliveries: async ({ state }) => ({
      deliveries: rows.filter((each) => state === undefined || each.state === state),
      next: null,
    }),
    ...change,
  }));
  return enter(token);
};
const show = async (shown: Shown) =>
  (await (await visit(shown)).send('GET', `/runs/${(shown.record ?? partly).id}`)).text();
const part = (page: string, id: string): string =>
  new RegExp(`<(section|div)[^>]* id="${id}"[\\s\\S]*?</\\1>`).exec(page)?.[0] ?? '';
const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

describe('the form for deliveries with unknown results', () => {
  it('shows answer, files and earlier deliveries of a single delivery, without boxes', async () => {
    const timeline: Access['timeline'] = async () => ({ entries: [], waits: null, earlier });
    const page = await show({ rows: [row(1, 'unknown')], change: { timeline } });
    const decide = part(page, 'decide');
    expect(decide).toContain(`action="/runs/${partly.id}/deliveries/resolve"`);
    expect(decide).toContain('r1@acme.example');
    expect(decide).toContain(unknown.detail);
    for (const { name } of files.filter(({ kind }) => kind === 'file')) expect(decide).toContain(name);
    expect(decide).toContain(`href="/runs/${done.id}"`);
    expect(decide).not.toContain('type="checkbox"');
    expect(decide).toContain('name="which" value="all"');
    expect(decide).not.toContain('value="selected"');
  });

  it('shows many deliveries as boxes in one form, with a shared answer once, and not in a second table', async () => {
    const rows = [...Array.from({ length: 40 }, (_, index) => row(index, 'unknown')), row(90, 'sent')];
    const page = await show({ rows });
    const decide = part(page, 'decide');
    expect(count(decide, /type="checkbox"/g)).toBe(40);
    expect(decide.split(unknown.detail ?? '-')).toHaveLength(2);
    expect(count(part(page, 'deliveries'), /<tr>/g)).toBe(2);
    expect(Buffer.byteLength(page)).toBeLessThan(45_000);
    const different = part(
      await show({ rows: [row(1, 'unknown'), row(2, 'unknown', { detail: '421 wait' })] }),
      'decide',
    );
    for (const detail of [unknown.detail, '421 wait']) expect(different).toContain(detail);
  });

  it('stays small with hundreds of deliveries, and decides about all of them', async () => {
    const page = await show({ rows: Array.from({ length: 400 }, (_, index) => row(index, 'unknown')) });
    expect(count(page, /type="checkbox"/g)).toBe(50);
    expect(page).toContain('name="shown" value="400"');
    expect(Buffer.byteLength(page)).toBeLessThan(60_000);
  });

  it('is hidden from viewers, who still see the answers, and is absent for notices', async () => {
    const rows = [row(1, 'unknown'), row(2, 'unknown')];
    const viewed = part(await show({ rows, token: ben.token }), 'decide');
    expect(viewed).toContain('r2@acme.example');
    expect(viewed).not.toContain('<form');
    const notice = await show({
      record: runOf('noticed', 'failed'),
      rows: [row(1, 'refused'), row(2, 'unknown', { target: NOTICE_TARGET })],
    });
    expect(notice).not.toContain('id="decide"');
    expect(notice).not.toContain('/deliveries/resolve"');
  });

  it('decides about the selected deliveries, or about all that it has shown', async () => {
    const rows = [row(1, 'unknown'), row(2, 'unknown'), row(3, 'unknown', { target: NOTICE_TARGET }), row(4, 'sent')];
    const requested: unknown[] = [];
    const browser = await visit({
      rows,
      change: {
        resolveMany: async (...of) => {
          requested.push(of);
          return rows.slice(0, of[1].length);
        },
      },
    });
    const path = `/runs/${partly.id}/deliveries/resolve`;
    const post = async (body: string) => {
      const answer = await browser.send('POST', path, {
        body: `csrf=${browser.csrf}&${body}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      });
      return [answer.status, answer.headers.get('location')];
    };
    const two = `delivery=${rows[0]?.id}&delivery=${rows[1]?.id}`;
    expect(await post(`${two}&as=sent&which=selected&reason=phone&shown=2`)).toEqual([
      303,
      `/runs/${partly.id}?did=sent-many`,
    ]);
    expect(await post(`delivery=${rows[1]?.id}&as=resend&which=selected&reason=no`)).toEqual([
      303,
      `/runs/${partly.id}?did=resend`,
    ]);
    expect(await post('as=sent&which=all&shown=2&reason=log')).toEqual([303, `/runs/${partly.id}?did=sent-many`]);
    const ids = rows.map(({ id }) => id);
    expect(requested).toEqual([
      [partly.id, ids.slice(0, 2), 'sent', 'phone'],
      [partly.id, [ids[1]], 'resend', 'no'],
      [partly.id, ids.slice(0, 2), 'sent', 'log'],
    ]);
    expect((await post('as=sent&which=all&shown=5&reason=log'))[0]).toBe(409);
    expect((await post('as=sent&which=selected&reason=log'))[0]).toBe(422);
    expect((await post(`${two}&which=selected&reason=log`))[0]).toBe(422);
    expect((await post(`${two}&as=sent&which=selected&reason=`))[0]).toBe(422);
    expect(requested).toHaveLength(3);
  });

  it('keeps boxes, choice and reason when it is rejected', async () => {
    const rows = [row(1, 'unknown'), row(2, 'unknown')];
    const { post } = await visit({
      rows,
      change: { resolveMany: () => Promise.reject(new DocketError('delivery.conflict', 'It has changed.')) },
    });
    const body = { which: 'selected', delivery: rows[1]?.id ?? '', as: 'resend', reason: 'not there' };
    const answer = await post(`/runs/${partly.id}/deliveries/resolve`, body);
    const decide = part(await answer.text(), 'decide');
    expect(answer.status).toBe(409);
    expect(decide).toContain('delivery.conflict');
    expect(decide).toMatch(new RegExp(`value="${rows[1]?.id}"[^>]* checked`));
    expect(decide).not.toMatch(new RegExp(`value="${rows[0]?.id}"[^>]* checked`));
    expect(decide).toMatch(/value="resend"[^>]* checked/);
    expect(decide).toContain('value="not there"');
  });
});

describe('the page of a run', () => {
  const headline = (page: string): string => part(page, 'headline');

  it('says partly delivered only when somebody has received the report', async () => {
    expect(headline(await show({ rows: [row(1, 'sent'), row(2, 'unknown')] }))).toContain('Partly delivered');
    const nobody = headline(await show({ rows: [row(1, 'unknown'), row(2, 'refused')] }));
    expect(nobody).not.toContain('Partly delivered');
    expect(nobody).toContain('Delivery unknown');
    // A notice to the owner is not a delivery of the report.
    const notice = [row(1, 'unknown'), row(2, 'sent', { target: NOTICE_TARGET })];
    expect(headline(await show({ rows: notice }))).toContain('Delivery unknown');
  });

  it('says cancelling until the run has stopped, and cancelled afterwards', async () => {
    const cancel = { by: 'ben', reason: 'wrong', at: NOW };
    const record = { ...running, cancel };
    const page = await show({ record });
    expect(headline(page)).toContain('Cancelling');
    expect(page).not.toContain(`action="/runs/${running.id}/cancel"`);
    const notice = async (of: RunRecord) =>
      /<p class="notice" role="status">(.*?)<\/p>/.exec(
        await (await (await visit({ record: of })).send('GET', `/runs/${of.id}?did=cancel`)).text(),
      )?.[1];
    expect(await notice(record)).not.toBe(await notice({ ...record, state: 'cancelled' }));
    expect(await notice({ ...record, state: 'done' })).not.toBe(await notice({ ...record, state: 'cancelled' }));
  });

  it.each([
    ['no_worker', { waits: { for: 'no_worker', text: 'Waiting', detail: 'Start one.', until: null } }, 'queued'],
    ['pause', { waits: { for: 'pause', text: 'Paused', detail: pause.why, until: null } }, 'waiting'],
    ['retry', { waits: { for: 'retry', text: 'Waiting', detail: 'It answered 503.', until: NOW + 60_000 } }, 'waiting'],
  ] as const)('says what the run waits for, and until when: %s', async (kind, { waits }, state) => {
    const record = runOf('waits', state, { finishedAt: null, calls: { planned: 0, made: 0, saved: 0 } });
    const timeline: Access['timeline'] = async () => ({ entries: [], waits, earlier: null });
    const page = await show({ record, change: { timeline } });
    const shown = new RegExp(`<div[^>]* id="waits" data-for="${kind}"[\\s\\S]*?</div>`).exec(page)?.[0] ?? '';
    expect(shown).toContain(waits.detail);
    expect(shown.includes('<time')).toBe(waits.until !== null);
    expect(shown.includes('href="/pauses"')).toBe(kind === 'pause');
  });

  it('lists trigger, deliveries with answers and decisions with reasons as steps', async () => {
    const record = runOf('steps', 'done', {
      trigger: 'on_demand',
      by: 'carla',
      reopened: [{ what: 'retry', by: 'anna', reason: 'the server is back', at: NOW - 1 }],
    });
    const rows = [row(1, 'sent', { detail: '250 2.0.0 queued as 77' }), row(2, 'sent', { target: NOTICE_TARGET })];
    const steps = /<ol class="steps">([\s\S]*?)<\/ol>/.exec(await show({ record, rows }))?.[1] ?? '';
    const kinds = [...steps.matchAll(/data-kind="([a-z_]+)"/g)].map(([, kind]) => kind);
    expect(kinds).toEqual(
      expect.arrayContaining(['triggered', 'fetched', 'archived', 'decision', 'delivery', 'notice', 'ended']),
    );
    for (const text of ['carla', '250 2.0.0 queued as 77', 'the server is back']) expect(steps).toContain(text);
  });

  it('offers no release for a held run that delivers nothing', async () => {
    const page = await show({ record: { ...held, deliver: false }, change: { heldRun: async () => heldPack } });
    expect(page).toContain('id="release"');
    expect(page).not.toContain(`action="/runs/${held.id}/release"`);
  });

  it.each([
    [[row(1, 'refused', { detail: '550 unknown user' })], 'r1@acme.example'],
    [[], 'starts again'],
  ] as const)('says what a retry does (%#)', async (rows, text) => {
    const record = runOf('retry', 'failed', { files: [], timings: { plan: 1 } });
    const page = part(await show({ record, rows, change: { files: async () => [] } }), 'retry');
    expect(page).toContain(text);
    expect(page).toContain(`action="/runs/${record.id}/retry"`);
  });
});

describe('the files of a run', () => {
  const csv = (index: number) => ({
    name: `section-${index}.csv`,
    kind: 'file' as const,
    type: 'text/csv; charset=utf-8',
    bytes: 10,
    sha256: 'a'.repeat(64),
  });
  it('are offered as one zip if there are several, with many CSV files folded', async () => {
    const list = async (of: readonly (typeof files)[number][]) =>
      part(await show({ change: { files: async () => of } }), 'files-list');
    const many = await list([...files, ...[1, 2, 3].map(csv)]);
    expect(many).toContain(`href="/api/runs/${partly.id}/files.zip"`);
    const folded = /<details class="fold">[\s\S]*?<\/details>/.exec(many)?.[0] ?? '';
    expect(count(folded, /\.csv" download=/g)).toBe(4);
    expect(folded).not.toContain('.xlsx');
    const one = await list([csv(1)]);
    expect(one).not.toContain('files.zip');
    expect(one).not.toContain('<details');
  });
});
