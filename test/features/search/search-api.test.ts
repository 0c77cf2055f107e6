import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import type { AdminApp } from '../../../src/admin/hono-env.ts';
import { silentLog } from '../../../src/base/log.ts';
import type { AttemptState } from '../../../src/deliver/ledger/ledger.ts';
import { deliveryId } from '../../../src/deliver/ledger/ledger.ts';
import { redisSearchIndex } from '../../../src/queue/runs/search-index.ts';
import { createTestAdmin } from '../../support/admin.ts';
import { type ApiContract, contractOf } from '../../support/api-contract.ts';
import { type DecisionHarness, decisionHarness } from '../../support/decision-harness.ts';
import { fake } from '../../support/fake.ts';
import { loadedJobs } from '../../support/loaded-jobs.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { anOrder, openQueueHarness, type QueueHarness, reportDefinition } from '../../support/queue-harness.ts';

const tokens = { acme: newToken(), rival: newToken() };
const entries: TokenEntry[] = [
  { name: 'ops', sha256: tokens.acme.sha256, role: 'viewer', orgs: ['acme'] },
  { name: 'them', sha256: tokens.rival.sha256, role: 'operator', orgs: ['rival'] },
];
/** The current month, since Redis drops index entries older than the retention. */
const clock = manualClock(Date.now());
const month = new Date(clock.now()).toISOString().slice(0, 7);

const groupSchema = z.looseObject({ total: z.number(), is_minimum: z.boolean(), matches: z.array(z.looseObject({})) });
const resultSchema = z.object({
  period: z.looseObject({ label: z.string() }).nullable(),
  reports: groupSchema,
  runs: groupSchema,
  recipients: groupSchema,
});
const rowsSchema = z.object({
  deliveries: z.array(z.looseObject({ id: z.string(), run: z.string() })),
  next: z.string().nullable(),
});

describe('the search API', () => {
  let harness: QueueHarness;
  let desk: DecisionHarness;
  let app: AdminApp;
  let contract: ApiContract;
  /** The run ids by name. */
  const runs = { october: '', again: '', weekly: '', rival: '' };
  const pack = reportDefinition('board-pack');
  const definition = {
    ...pack.definition,
    title: 'Board pack',
    outputs: [{ format: 'xlsx' }, { format: 'csv' }],
    deliveries: [
      { email: { to: ['board@acme.example'], attach: ['xlsx'], cc: [], bcc: [], body: 'summary' } },
      { directory: { path: 'sent' } },
    ],
  };

  beforeAll(async () => {
    harness = await openQueueHarness();
    desk = decisionHarness(harness);
    const jobs = loadedJobs(pack, reportDefinition('weekly-kpi'), reportDefinition('board-pack', undefined, 'rival'));
    app = createTestAdmin(
      entries,
      {
        jobs: () => jobs,
        runs: harness.runs,
        ledger: desk.ledger,
        decisions: desk.decisions,
        definitions: fake({
          get: async (digest) => (digest === definition.digest ? { ...pack, definition } : undefined),
        }),
        searchIndex: redisSearchIndex(harness.producer, { prefix: harness.prefix, keepDays: 40, log: silentLog }),
      },
      { clock },
    );
    contract = await contractOf(app);
    const open = async (
      name: keyof typeof runs,
      report: string,
      from: string,
      org = 'acme',
      digest = definition.digest,
    ) => {
      const period = { from, to: from, timezone: 'Europe/Zurich', label: from.slice(0, 7) };
      const order = anOrder({ org, report, period, digest, slot: `trigger:${name}` });
      await harness.runs.open(order);
      runs[name] = order.id;
    };
    const deliver = async (run: string, target: string, recipient: string, to: AttemptState, org = 'acme') => {
      const id = deliveryId(run, target, recipient.toLowerCase());
      await desk.ledger.open({ id, run, org, report: 'board-pack', target, recipient }, clock.now());
      if (to === 'pending') return;
      const epoch = (await desk.ledger.begin(id, clock.now())) ?? 0;
      await desk.ledger.settle(id, epoch, to, `${to}: the answer`, clock.now());
    };
    await open('october', 'board-pack', `${month}-01`);
    await open('again', 'board-pack', `${month}-01`);
    await open('weekly', 'weekly-kpi', '2020-01-01', 'acme', 'e'.repeat(64));
    await open('rival', 'board-pack', `${month}-01`, 'rival');
    await deliver(runs.october, '0-email', 'Board@acme.example', 'refused');
    await deliver(runs.october, '1-directory', 'sent/board-pack', 'sent');
    await deliver(runs.again, '0-email', 'board@acme.example', 'sent');
    await deliver(runs.weekly, '0-email', 'board@acme.example', 'unknown');
    await deliver(runs.weekly, 'notice', 'ops@acme.example', 'pending');
    await deliver(runs.rival, '0-email', 'board@acme.example', 'sent', 'rival');
    await harness.runs.update(runs.october, {
      state: 'failed',
      error: { code: 'deliver.target_failed', message: 'It did not answer.' },
    });
  });
  afterAll(() => harness.close());

  const ask = async (path: string, as: keyof typeof tokens = 'acme') => {
    const response = await app.request(path, { headers: { authorization: `Bearer ${tokens[as].token}` } });
    const text = await response.text();
    expect(contract.fault('GET', path, response, text)).toBeUndefined();
    return { status: response.status, body: JSON.parse(text) as unknown };
  };
  const search = async (text: string, as?: keyof typeof tokens) => {
    const { status, body } = await ask(`/api/search?q=${encodeURIComponent(text)}`, as);
    expect(status).toBe(200);
    return resultSchema.parse(body);
  };

  it('finds the deliveries to a recipient in a month, newest run first, with their total', async () => {
    const { recipients, reports, period } = await search(`BOARD@ ${month}`);
    expect([period?.label, reports.total, recipients.total]).toEqual([month, 0, 1]);
    expect(recipients.matches).toMatchObject([
      {
        org: 'acme',
        recipient: 'board@acme.example',
        total: 2,
        matches: expect.toSatisfy((found: { run: string }[]) => found.length === 2),
      },
    ]);
    expect((await search('board@')).recipients.matches).toMatchObject([{ total: 3 }]);
  });

  it('finds reports by words of title, id and organization, and runs by four digits or by period', async () => {
    expect((await search('PACK board')).reports).toMatchObject({ total: 1, matches: [{ report: 'board-pack' }] });
    expect((await search('acme')).reports.total).toBe(2);
    expect((await search(runs.weekly.slice(0, 4).toUpperCase())).runs.matches).toContainEqual(
      expect.objectContaining({ id: runs.weekly }),
    );
    const ofMonth = (await search(`pack ${month}`)).runs;
    expect(ofMonth).toMatchObject({ total: 2, is_minimum: false });
    expect(ofMonth.matches.map(({ id }) => id).sort()).toEqual([runs.october, runs.again].sort());
    expect((await search(`kpi ${month}`)).runs.total).toBe(0);
  });

  it('shows nothing of another organization', async () => {
    for (const text of ['board@', 'pack', runs.october.slice(0, 8), `${month}`]) {
      const { reports, runs: found, recipients } = await search(text, 'rival');
      const text_ = JSON.stringify([reports, found, recipients]);
      for (const foreign of ['"acme"', runs.october, runs.again, runs.weekly]) expect(text_).not.toContain(foreign);
    }
    expect((await search('board@', 'rival')).recipients.matches).toMatchObject([{ org: 'rival', total: 1 }]);
    expect(await ask('/api/deliveries?to=board@&org=acme', 'rival')).toMatchObject({ status: 404 });
  });

  it('rejects missing, empty and long queries and unknown parameters', async () => {
    for (const path of ['/api/search', '/api/search?q=', '/api/search?q=a&x=1', `/api/search?q=${'a'.repeat(201)}`]) {
      expect(await ask(path), path).toMatchObject({ status: 422 });
    }
    expect((await search('nobody@nowhere')).recipients).toEqual({ matches: [], total: 0, is_minimum: false });
  });

  it('lists deliveries with state, period, contents and answer', async () => {
    const { body } = await ask(`/api/deliveries?to=board@acme.example&period=${month}`);
    const { deliveries, next } = rowsSchema.parse(body);
    expect(next).toBeNull();
    expect(deliveries.find(({ run }) => run === runs.october)).toMatchObject({
      state: 'refused',
      detail: 'refused: the answer',
      recipient: 'Board@acme.example',
      title: 'Board pack',
      period: { label: month },
      content: { kind: 'mail', formats: ['xlsx'] },
    });
    expect(deliveries.map(({ run }) => run).sort()).toEqual([runs.october, runs.again].sort());
    const files = rowsSchema.parse((await ask('/api/deliveries?to=sent/board')).body).deliveries;
    expect(files).toMatchObject([{ run: runs.october, content: { kind: 'files', formats: ['xlsx', 'csv'] } }]);
    const weekly = rowsSchema.parse((await ask('/api/deliveries?to=acme.example&match=kpi')).body).deliveries;
    // The definition of the run is no longer stored.
    expect(weekly.map(({ state, content, title }) => [state, content, title]).sort()).toEqual([
      ['pending', null, null],
      ['unknown', null, null],
    ]);
    const unknown = rowsSchema.parse((await ask('/api/deliveries?to=board@&state=unknown')).body).deliveries;
    expect(unknown.map(({ run }) => run)).toEqual([runs.weekly]);
  });

  it('pages through the deliveries of a recipient', async () => {
    const seen: string[] = [];
    let next: string | null = null;
    do {
      const after: string = next === null ? '' : `&after=${next}`;
      const page = rowsSchema.parse((await ask(`/api/deliveries?to=board@&limit=1${after}`)).body);
      seen.push(...page.deliveries.map(({ run }) => run));
      next = page.next;
    } while (next !== null);
    expect(seen.sort()).toEqual([runs.october, runs.again, runs.weekly].sort());
  });

  it('filters runs by parts of names, codes and addresses, and rejects an invalid filter', async () => {
    const idsOf = async (query: string) =>
      z
        .object({ runs: z.array(z.object({ id: z.string() })) })
        .parse((await ask(`/api/runs?${query}`)).body)
        .runs.map(({ id }) => id)
        .sort();
    expect(await idsOf('match=Board%20PACK')).toEqual([runs.october, runs.again].sort());
    expect(await idsOf('error=TARGET')).toEqual([runs.october]);
    expect(await idsOf('error=api.')).toEqual([]);
    expect(await idsOf(`to=board@&period=${month}&state=failed`)).toEqual([runs.october]);
    expect(await idsOf('to=nobody@')).toEqual([]);
    for (const query of ['runs?period=nonsense', 'deliveries?period=nonsense', `deliveries?to=a&run=${runs.weekly}`]) {
      expect(await ask(`/api/${query}`), query).toMatchObject({ status: 422 });
    }
  });
});
