import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Access } from '../../../src/admin/access/access.ts';
import { DocketError } from '../../../src/base/error.ts';
import { NOTICE_TARGET } from '../../../src/deliver/ledger/ledger.ts';
import type { DeliveryRow } from '../../../src/services/deliveries/decisions.ts';
import { createToken } from '../../support/authenticated-app.ts';
import { openPage } from '../../support/open-page.ts';
import { failed, files, held, heldPack, runOf, unknown } from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const RETRY = /action="\/runs\/[0-9a-f]{32}\/retry"/;

describe('the page of a run', () => {
  const anna = createToken('anna');
  const ben = createToken('ben', { role: 'viewer' });
  const prefix = randomPrefix();
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(inject('redisUrl'));
  });
  afterAll(() => redis.quit());

  const open = async (change: Partial<Access> = {}, token = anna.token) =>
    openPage({ redis, prefix }, [anna.entry, ben.entry], () => change).visit(token);
  const html = async (path: string, change: Partial<Access> = {}, token = anna.token) =>
    (await (await open(change, token)).send('GET', path)).text();
  const row = (state: DeliveryRow['state'], change: Partial<DeliveryRow> = {}): DeliveryRow => ({
    ...unknown,
    id: Buffer.from(`${state}${change.target ?? ''}`.padEnd(16, '.'))
      .toString('hex')
      .slice(0, 32),
    state,
    ...change,
  });
  /** The page of a run that ended in this state, with these deliveries. */
  const ended = (
    state: 'failed' | 'partly_delivered' | 'cancelled',
    rows: readonly DeliveryRow[],
    change: Parameters<typeof runOf>[2] = {},
  ) => {
    const run = runOf('ended', state, { files: [], ...change });
    return html(`/runs/${run.id}`, {
      run: async () => run,
      watch: async function* () {
        yield { record: run, live: null };
      },
      files: async () => [],
      deliveries: async ({ state: only }) => ({
        deliveries: only === undefined ? rows : rows.filter((each) => each.state === only),
        next: null,
      }),
    });
  };

  it.each([
    ['an operator beside the form', anna.token, true],
    ['a viewer without it', ben.token, false],
  ])('that is held shows missing figures, recipients and files to %s', async (_, token, form) => {
    const page = await html(`/runs/${held.id}`, {}, token);
    const part = /<section[^>]* id="release"[\s\S]*?<\/section>/.exec(page)?.[0] ?? '';
    for (const { section, title, text } of heldPack.missing ?? []) {
      expect(part).toContain(title ?? section);
      expect(part).toContain(text);
    }
    const [who = '', whoNot = ''] = part.split('id="recipients-excluded"');
    expect(who).toContain('lead@acme.example');
    expect(who).toContain('s3://reports/acme/2026-W46/');
    expect(who).not.toContain('board@elsewhere.example');
    expect(whoNot).toContain('board@elsewhere.example');
    expect(whoNot).toContain('It is not among the recipients.');
    for (const { name } of files.filter(({ kind }) => kind === 'file')) expect(part).toContain(name);
    expect(part).toContain('47 KB');
    expect(part.includes(`action="/runs/${held.id}/release"`)).toBe(form);
  });

  it('counts its figures by status, and those based on few cases separately', async () => {
    const page = await ended('failed', [], { statuses: { breached: 2 }, fewStatuses: { breached: 1, on_target: 4 } });
    expect(page).toContain('breached 2');
    expect(page).toContain('1 breached on few cases');
    expect(page).not.toContain('on target');
    expect(await ended('failed', [], { statuses: { breached: 2 } })).not.toContain('few cases');
  });

  it('that is held shows an unavailable archive or definition', async () => {
    const error = new DocketError('archive.unreachable', 'The archive does not answer.').toJSON();
    const away = await html(`/runs/${held.id}`, {
      heldRun: async () => ({ missing: null, recipients: null, error }),
    });
    expect(away).toContain('archive.unreachable');
    const forgotten = await html(`/runs/${held.id}`, { heldRun: async () => ({ ...heldPack, recipients: null }) });
    expect(forgotten).toContain('id="recipients-unknown"');
  });

  it('that failed after its files were archived lists them', async () => {
    const page = await html(`/runs/${failed.id}`);
    for (const { name } of files.filter(({ kind }) => kind === 'file')) {
      expect(page).toContain(`href="/api/runs/${failed.id}/files/${encodeURIComponent(name)}"`);
    }
    expect(await html(`/runs/${failed.id}`, { files: async () => [] })).not.toContain('/files/');
  });

  it('that failed gives the known reason for missing files', async () => {
    const none = { files: async () => [] };
    const before = await html(`/runs/${failed.id}`, none);
    const after = runOf('gone', 'failed', { files: [], timings: { seal: 1, deliver: 2 } });
    const watch: Access['watch'] = async function* () {
      yield { record: after, live: null };
    };
    const gone = await html(`/runs/${after.id}`, { ...none, run: async () => after, watch });
    const reason = (page: string) => /id="files-list"[^>]*><p class="empty">(.*?)<\/p>/.exec(page)?.[1];
    expect(reason(before)).toBeDefined();
    expect(reason(gone)).toBeDefined();
    expect(reason(gone)).not.toBe(reason(before));
  });

  it.each([
    ['failed', []],
    ['failed', [row('refused')]],
    ['failed', [row('refused'), row('unknown', { target: NOTICE_TARGET })]],
    ['cancelled', [row('pending')]],
    ['cancelled', [row('sent')]],
    ['partly_delivered', [row('sent'), row('refused')]],
  ] as const)('that is %s offers a retry (%#)', async (state, rows) => {
    expect(await ended(state, rows)).toMatch(RETRY);
  });

  it.each([
    ['partly_delivered', [row('sent'), row('unknown')]],
    ['partly_delivered', [row('unknown'), row('refused', { target: NOTICE_TARGET })]],
    ['cancelled', [row('unknown')]],
  ] as const)('that is %s offers a decision, and no retry that would do nothing (%#)', async (state, rows) => {
    const page = await ended(state, rows);
    expect(page).not.toMatch(RETRY);
    const acts = page.slice(page.indexOf('id="actions"'), page.indexOf('id="files"'));
    expect(acts).toContain(`href="/deliveries/${row('unknown').id}"`);
  });

  it('names the packs that nobody receives', async () => {
    const held = {
      target: 'held:retail-1a2b3c4d5e',
      recipient: 'Retail',
      state: 'refused',
      detail: 'Nobody.',
    } as const;
    const page = await ended('partly_delivered', [row('sent')], { deliveries: [held] });
    expect(page).toContain('1 of 1 delivery arrived. Held: Retail.');
  });

  it('offers retry and decision where both have an effect', async () => {
    const page = await ended('partly_delivered', [row('refused'), row('unknown')]);
    expect(page).toMatch(RETRY);
    expect(page.slice(page.indexOf('id="actions"'), page.indexOf('id="files"'))).toContain(
      `href="/deliveries/${row('unknown').id}"`,
    );
  });

  it('shows the rejection of an action that is not offered', async () => {
    const { post } = await open({
      decide: async () => {
        throw new DocketError('run.conflict', 'There is nothing to retry.');
      },
    });
    const answer = await post(`/runs/${held.id}/retry`, { reason: 'again' });
    expect([answer.status, await answer.text()]).toEqual([409, expect.stringContaining('There is nothing to retry.')]);
  });

  describe('after a delivery was resent', () => {
    const states = ['pending', 'sending', 'sent', 'refused', 'unknown'] as const;
    const notice = (page: string) => /<p class="notice" role="status">(.*?)<\/p>/.exec(page)?.[1] ?? '';

    it('shows the current state of the delivery, the same on every page', async () => {
      const said = new Map<string, string>();
      for (const state of states) {
        const delivery = async () => row(state);
        const own = notice(await html(`/deliveries/${row(state).id}?did=resend`, { delivery }));
        const all = notice(await html(`/deliveries?did=resend&delivery=${row(state).id}`, { delivery }));
        expect(own).toBe(all);
        said.set(state, own);
      }
      expect(new Set(said.values()).size).toBe(states.length);
    });

    it('shows a general notice where the delivery is not named or unknown', async () => {
      const general = notice(await html('/deliveries?did=resend'));
      expect(general).not.toBe('');
      const delivery = () => Promise.reject(new DocketError('request.not_found', 'There is nothing here.'));
      expect(notice(await html(`/deliveries?did=resend&delivery=${'a'.repeat(32)}`, { delivery }))).toBe(general);
    });

    it('redirects to an address that names the delivery', async () => {
      const { post } = await open({ resolve: async () => row('pending') });
      const answer = await post(`/deliveries/${unknown.id}/resolve`, {
        as: 'resend',
        reason: 'x',
        from: '/deliveries',
      });
      expect(answer.headers.get('location')).toBe(`/deliveries?did=resend&delivery=${row('pending').id}`);
    });
  });

  describe('by a short id', () => {
    it('redirects to the full id', async () => {
      const { send } = await open({ run: async () => held, delivery: async () => unknown });
      const run = await send('GET', `/runs/${held.id.slice(0, 8)}?did=retry`);
      expect([run.status, run.headers.get('location')]).toEqual([302, `/runs/${held.id}?did=retry`]);
      const delivery = await send('GET', `/deliveries/${unknown.id.slice(0, 20)}`);
      expect([delivery.status, delivery.headers.get('location')]).toEqual([302, `/deliveries/${unknown.id}`]);
    });

    it('is found from the form of the list of runs', async () => {
      const { send } = await open();
      const list = await (await send('GET', '/runs')).text();
      expect(list).toContain('name="run"');
      const found = await send('GET', '/runs?org=&report=&state=&run=+68656C64+');
      expect([found.status, found.headers.get('location')]).toEqual([302, '/runs/68656c64']);
      expect((await send('GET', '/runs?run=')).status).toBe(200);
    });

    it('that matches several runs lists them as links', async () => {
      const ids = ['abcdef01'.padEnd(32, '0'), 'abcdef01'.padEnd(32, '1')];
      const { send } = await open({
        run: () =>
          Promise.reject(
            new DocketError('run.ambiguous', 'Two.', { got: ids.map((id) => `${id} (acme/weekly)`).join(', ') }),
          ),
      });
      const answer = await send('GET', '/runs/abcdef01');
      const text = await answer.text();
      expect(answer.status).toBe(409);
      for (const id of ids) expect(text).toContain(`href="/runs/${id}"`);
    });

    it('lists ambiguous deliveries with recipient and state', async () => {
      const ids = ['1', '2'].map((digit) => `abcdef01${digit.repeat(24)}`);
      const got = ids.map((id) => `${id} (board@acme.example, unknown)`).join(', ');
      const { send } = await open({
        delivery: () => Promise.reject(new DocketError('delivery.ambiguous', 'Two.', { got })),
      });
      const text = await (await send('GET', '/deliveries/abcdef01')).text();
      for (const id of ids) expect(text).toMatch(new RegExp(`${id}</a> \\(board@acme.example, unknown\\)</li>`));
    });
  });
});
