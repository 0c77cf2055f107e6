import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Access } from '../../../src/admin/access/access.ts';
import { DocketError } from '../../../src/base/error.ts';
import { createToken } from '../../support/authenticated-app.ts';
import { openPage } from '../../support/open-page.ts';
import { corrections, correctionView, deliveries, done, running } from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const anna = createToken('anna');
const ben = createToken('ben', { role: 'viewer' });
const prefix = randomPrefix();
let redis: Redis;
beforeAll(() => {
  redis = new Redis(inject('redisUrl'));
});
afterAll(() => redis.quit());

const PATH = `/corrections/${correctionView.id}`;
const enter = (change: Partial<Access> = {}, token = anna.token) =>
  openPage({ redis, prefix }, [anna.entry, ben.entry], () => ({
    corrections: async ({ state } = {}) =>
      corrections.filter((correction) => state === undefined || correction.state === state),
    correction: async () => correctionView,
    ...change,
  })).visit(token);
const show = async (path: string, change: Partial<Access> = {}, token = anna.token) =>
  (await (await enter(change, token)).send('GET', path)).text();

describe('the pages of corrections', () => {
  it('list corrections that need a decision first', async () => {
    const page = await show('/corrections');
    const rows = (id: string) => new RegExp(`<tbody id="${id}"[\\s\\S]*?</tbody>`).exec(page)?.[0] ?? '';
    const [open, ...others] = corrections;
    expect(rows('open-corrections')).toContain(`href="/corrections/${open?.id}"`);
    for (const { id } of others) {
      expect(rows('open-corrections')).not.toContain(id);
      expect(rows('decided-corrections')).toContain(`href="/corrections/${id}"`);
    }
    expect(rows('decided-corrections')).toContain('The auditor asked');
  });

  it('are linked from the overview and the delivered run, without reading the archive when no correction is open', async () => {
    const summary = { org: 'acme', at: 0, watched: 5, open: 2, oldest: 0 };
    const open: Partial<Access> = { correctionSummaries: async () => [summary] };
    const unread: Partial<Access> = { corrections: () => Promise.reject(new Error('the archive was read')) };
    expect(await show('/', { ...unread, ...open })).toContain('<a href="/corrections">');
    expect(await show('/', unread)).not.toContain('<a href="/corrections">');
    const navigation = async (access: Partial<Access>) =>
      /<nav[\s\S]*?<\/nav>/.exec(await show('/runs', access))?.[0] ?? '';
    const watched: Partial<Access> = { correctionSummaries: async () => [{ ...summary, open: 0, oldest: null }] };
    expect(await navigation(watched)).toContain('href="/corrections"');
    expect(await navigation(unread)).not.toContain('href="/corrections"');
    expect(await show(`/runs/${done.id}`, open)).toContain(`<a href="${PATH}">`);
    expect(await show(`/runs/${done.id}`, unread)).not.toContain('/corrections/');
    const unreachable = new DocketError('archive.unreachable', 'no answer');
    const browser = await enter({ ...open, corrections: () => Promise.reject(unreachable) });
    expect((await browser.send('GET', `/runs/${done.id}`)).status).toBe(200);
  });

  it.each(['0-email', '0-email:retail-1f0e'])('can be opened from a run that %s has delivered', async (target) => {
    const rows = deliveries.slice(0, 1).map((row) => ({ ...row, run: done.id, target, state: 'sent' as const }));
    const access: Partial<Access> = { deliveries: async () => ({ deliveries: rows, next: null }) };
    const form = new RegExp(`<form[^>]*action="/runs/${done.id}/correct"`);
    expect(await show(`/runs/${done.id}`, access)).toMatch(form);
    expect(await show(`/runs/${done.id}`, access, ben.token)).not.toMatch(form);
    expect(await show(`/runs/${done.id}`, { deliveries: async () => ({ deliveries: [], next: null }) })).not.toMatch(
      form,
    );
  });

  it('show each changed figure before and after with its unit, and who received it', async () => {
    const page = await show(PATH);
    const rows = [
      ...(/<tbody id="changes"[\s\S]*?<\/tbody>/.exec(page)?.[0] ?? '').matchAll(/<tr>([\s\S]*?)<\/tr>/g),
    ].map(([, row = '']) =>
      [...row.matchAll(/<td[^>]*>([\s\S]*?)<\/td>/g)].map(([, cell = '']) =>
        cell
          .replaceAll(/<[^>]*>/g, '')
          .replaceAll(/\s+/g, ' ')
          .trim(),
      ),
    );
    expect(rows.map((row) => row.slice(1, 5))).toEqual([
      ['profiles.created', 'total', '412', '431'],
      ['profiles.approval_rate', '2026-11-10, profile.risk high &lt;b&gt;', '91.2%', '89.75%'],
      ['profiles.time_to_decision_p50', 'total', '1 d 2 h', 'no figure'],
    ]);
    expect(rows[0]?.[5]).toMatch(/watch.*on target/);
    expect(rows.map(([section]) => section === 'Onboarding')).toEqual([true, true, false]);
    for (const { recipient } of correctionView.recipients) expect(page).toContain(recipient);
    expect(page).toContain('137');
    const viewed = await show(PATH, {}, ben.token);
    expect(viewed).not.toContain(`action="${PATH}`);
    const decided = await show(PATH, {
      correction: async () => ({ ...correctionView, ...corrections[1], id: correctionView.id }),
    });
    expect(decided).not.toContain(`action="${PATH}`);
    expect(decided).toContain(`href="/runs/${running.id}"`);
  });

  it('send or dismiss a correction with a reason, by POST only', async () => {
    const requested: unknown[] = [];
    const browser = await enter({
      sendCorrection: async (...of) => {
        requested.push(['send', ...of]);
        return { correction: correctionView, run: running.id };
      },
      dismissCorrection: async (...of) => {
        requested.push(['dismiss', ...of]);
        return correctionView;
      },
    });
    const post = async (what: string, reason: string) => {
      const answer = await browser.post(`${PATH}/${what}`, { reason });
      return [answer.status, answer.headers.get('location')];
    };
    expect(await post('send', 'The auditor asked')).toEqual([303, `/runs/${running.id}?did=correction`]);
    expect(await post('dismiss', 'Known')).toEqual([303, '/corrections?did=dismissed']);
    expect((await post('send', ''))[0]).toBe(422);
    for (const what of ['send', 'dismiss']) expect((await browser.send('GET', `${PATH}/${what}`)).status).toBe(404);
    expect(requested).toEqual([
      ['send', correctionView.id, 'The auditor asked'],
      ['dismiss', correctionView.id, 'Known'],
    ]);
    const late = await enter({
      correction: async () => ({ ...correctionView, state: 'dismissed' }),
      sendCorrection: () => Promise.reject(new DocketError('correction.conflict', 'It was dismissed.')),
    });
    const refused = await late.post(`${PATH}/send`, { reason: 'x' });
    expect([refused.status, (await refused.text()).includes('correction.conflict')]).toEqual([409, true]);
  });
});
