import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Access } from '../../../src/admin/access/access.ts';
import { notFoundError } from '../../../src/admin/access/guards.ts';
import { createRateLimit } from '../../../src/admin/auth/rate-limit.ts';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import type { AdminApp } from '../../../src/admin/hono-env.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { DocketError } from '../../../src/base/error.ts';
import { silentLog } from '../../../src/base/log.ts';
import { INITIAL_RUN_FIELDS } from '../../../src/queue/runs/stored-record.ts';
import type { RunRecord } from '../../../src/run/run-record.ts';
import type { Correction } from '../../../src/services/corrections/correction.ts';
import type { ReviewView } from '../../../src/services/reviews/review-service.ts';
import type { SelectionView } from '../../../src/services/selections/selection-service.ts';
import { createTestAdmin, NO_SEARCH_INDEX } from '../../support/admin.ts';
import { type ApiContract, contractOf, type DeclaredOperation } from '../../support/api-contract.ts';
import { createPageAuth } from '../../support/page-auth.ts';
import { filledWorkbook, outline, sampleForecast, workbook } from '../../support/page-data.ts';
import { anOrder } from '../../support/queue-harness.ts';

const { token, sha256 } = newToken();
const narrow = newToken();
const entries: TokenEntry[] = [
  { name: 'root', sha256, role: 'operator', orgs: '*' },
  { name: 'narrow', sha256: narrow.sha256, role: 'operator', orgs: ['acme'] },
];
const authorization = `Bearer ${token}`;
const ID = '2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e';
const HASH = 'ab'.repeat(32);

const stop = { kind: 'stop', org: 'acme', by: 'ops', reason: 'wrong figures', since: 1 } as const;
const denial = { name: 'ana@acme.example', by: 'ops', reason: 'left', since: 1 };
const pause = { org: 'acme', report: null, who: 'ops', why: 'audit', since: 1, key: null, run: null };
const record: RunRecord = {
  ...anOrder({ id: ID, by: 'ops' }),
  ...INITIAL_RUN_FIELDS,
  state: 'partly_delivered',
  startedAt: 1,
  finishedAt: 2,
  until: 3,
  timings: { plan: 1 },
  files: [{ name: 'a.csv', bytes: 1, sha256: HASH }],
  deliveries: [{ target: '0-email', recipient: 'a@acme.example', state: 'unknown', detail: null }],
  error: { code: 'deliver.unknown', message: 'It may have arrived.', next: 'Ask.' },
  reopened: [{ what: 'retry', by: 'ops', reason: 'again', at: 4 }],
  cancel: { by: 'ops', reason: 'wrong', at: 5 },
};
const delivery = {
  id: ID,
  run: ID,
  org: 'acme',
  report: 'weekly',
  target: '0-email',
  recipient: 'a@acme.example',
  state: 'unknown' as const,
  epoch: 1,
  detail: 'no answer',
  at: 1,
  decisions: [{ to: 'sent' as const, by: 'ops', reason: 'she has it', at: 2 }],
};
const report = {
  org: 'acme',
  report: 'weekly',
  title: 'Weekly',
  schedules: ['0 8 * * MON'],
  scheduleWords: ['at 08:00, only on Monday'],
  pause,
  faults: ['jobs/acme/weekly.yaml:1:1: expected a title, got nothing; do: write one'],
  last: record,
};
const slot = { at: '2026-11-23T07:00:00.000Z', begins: '2026-11-23T07:00:00.000Z', local: 'Mon', timezone: 'UTC' };
const file = { name: 'a.csv', kind: 'file' as const, type: 'text/csv; charset=utf-8', bytes: 3, sha256: HASH };

const received = {
  row: delivery,
  period: record.period,
  title: 'Weekly',
  content: { kind: 'mail' as const, formats: ['xlsx'] },
};

const author = { person: 'mlro', name: 'Mia Lro', principal: 'token:mia' };
const review: ReviewView = {
  record,
  state: {
    seq: 3,
    phase: 'approval',
    figures: HASH,
    content: HASH,
    comments: [{ section: 'onboarding', text: 'As planned.', by: author, at: 1, version: 1 }],
    missingComments: ['alerts'],
    approvals: [{ by: author, at: 2, reason: 'checked' }],
    need: 2,
    delegations: [
      {
        ...{ seq: 4, at: 3, by: author, reason: 'on leave', until: 9 },
        from: { id: 'mlro', name: 'Mia Lro' },
        to: { id: 'dora', name: 'Dora' },
      },
    ],
    authors: [author],
    since: 1,
  },
  sections: [
    {
      id: 'onboarding',
      title: 'Onboarding',
      required: true,
      references: [{ reference: '{{ onboarding.profiles.created }}', label: 'Profiles created', text: '12' }],
    },
  ],
  packs: [],
  drafts: [
    { section: 'onboarding', kind: 'comment', text: 'Of last week.', author: 'Mia Lro', period: '2026-W45', run: ID },
  ],
  files: [{ name: 'a.csv', bytes: 3 }],
  due: 5,
  reviewers: ['Chief'],
  deputies: [],
  refusal: 'Sign in to approve.',
  delivered: null,
  canReject: false,
  history: [{ section: null, text: null, by: 'Mia Lro', at: 1 }],
};

const change = { section: 'kpis', metric: 'profiles.created', bucket: null, group: null, before: 1, after: 2 };
const correction: Correction = {
  id: `${ID}-1`,
  run: { id: ID, org: 'acme', report: 'weekly' },
  number: 1,
  state: 'sent',
  foundAt: 1,
  changes: [change, { ...change, group: { dimension: 'profile.type', value: 'entity' } }],
  material: 1,
  total: 1,
  notified: true,
  decision: { at: 2, by: 'ops', reason: 'material', run: ID },
};

const proposal = {
  ...{ seq: 4, at: 1, by: author, delivery: ID, target: '0-email', recipient: 'b@acme.example', replaces: ID },
  ...{ reason: 'typing error', approvals: [author], state: 'waiting' as const },
};
const addedDelivery = {
  ...{ record, waits: proposal, need: 2 },
  delivery: { id: ID, run: ID, org: 'acme', report: 'weekly', target: '0-email', recipient: 'b@acme.example' },
};

/** One example of everything, so that every field of every response is checked. */
const correctionDetail = {
  ...correction,
  title: 'Weekly',
  period: record.period,
  deliveredAt: 1,
  recipients: [{ target: '0-email', recipient: 'a@acme.example', receives: true, why: null, marked: true }],
  sections: [],
};
const FULL: Partial<Access> = {
  organizations: async () => [{ org: 'acme', name: 'Acme', timezone: null, reports: 1, pause }],
  reports: async () => ({ reports: [report, { ...report, pause: null, last: null }], next: 'acme/weekly' }),
  report: async () => ({
    ...report,
    owner: 'ops@acme.example',
    timezone: 'Europe/Zurich',
    text: 'version: 1',
    digest: HASH,
    slots: [{ ...slot, schedule: '0 8 * * MON' }],
    outline,
    workbook,
  }),
  trigger: async () => ({ opened: true, record }),
  runs: async () => ({ runs: [record], next: `1-${ID}` }),
  run: async () => record,
  decide: async () => record,
  heldRun: async () => null,
  review: async () => review,
  reviewFile: async () => ({ ...file, open: async () => Readable.from([Buffer.from('a,b')], { objectMode: false }) }),
  reviewPreview: async () => '<p>Hello</p>',
  comment: async () => ({ view: review, warnings: [{ number: '12', text: '12: Profiles is 13.' }] }),
  approve: async () => review,
  reject: async () => review,
  delegate: async () => review,
  files: async () => [
    { ...file, workbook: filledWorkbook },
    { ...file, name: 'mail.html', kind: 'mail', bytes: null, sha256: null },
  ],
  file: async () => ({ ...file, open: async () => Readable.from([Buffer.from('a,b')], { objectMode: false }) }),
  filesZip: async () => ({
    name: 'weekly.zip',
    open: async () => Readable.from([Buffer.from('PK')], { objectMode: false }),
  }),
  preview: async () => '<p>Hello</p>',
  timeline: async () => ({
    entries: [
      {
        kind: 'delivery',
        at: 1,
        outcome: 'uncertain',
        text: 'Result unknown',
        detail: 'no answer',
        by: null,
        ms: null,
        until: null,
        delivery: ID,
        recipient: 'a@acme.example',
      },
    ],
    waits: { for: 'retry', text: 'Waiting to try again', detail: 'The service answered 503.', until: 3 },
    earlier: { run: ID, period: record.period, at: 1, sent: { email: 2 }, uncertain: 1 },
  }),
  deliveries: async () => ({ deliveries: [delivery], next: null }),
  delivery: async () => delivery,
  received: async () => ({ deliveries: [received], next: null }),
  resolve: async () => delivery,
  resolveMany: async () => [delivery],
  sendTo: async () => ({ ...addedDelivery, line: { at: 'acme/weekly.yaml:12', text: 'to: [a@acme.example]' } }),
  addedRecipients: async () => [proposal],
  decideRecipient: async () => addedDelivery,
  previewSelection: async () => selection,
  selection: async () => selection,
  decideSelection: async () => selection,
  pauses: async () => [pause],
  pause: async () => pause,
  resume: async () => [pause],
  denials: async () => [denial],
  deny: async () => [denial],
  allow: async () => [denial],
  mentions: async () => [
    { org: 'acme', report: null, file: 'jobs/acme/org.yaml', line: 7, field: 'recipients.domains[0]' },
  ],
  switches: async () => [stop],
  stoppedRuns: async () => [{ record, replacedBy: { run: record.id, why: 'superseded' } }],
  setSwitch: async () => stop,
  releaseSwitch: async () => ({ released: stop, continued: [record], cancelled: [record] }),
  watch: async function* () {
    yield { record, live: null };
  },
  slots: async () => [
    { ...slot, schedule: '0 8 * * MON', org: 'acme', report: 'weekly', title: 'Weekly', paused: false },
  ],
  explain: async () => ({ calls: [] }),
  validate: async () => ({ ok: false, faults: [{ line: 1, column: 1, text: 'expected a title' }], unchecked: null }),
  forecast: async () => sampleForecast,
  budgets: async () => ({
    unknown: [{ org: 'rival', why: 'RIVAL_KEY is not set' }],
    budgets: [
      {
        organizations: ['acme'],
        of: 'metrics',
        calls: 30,
        windowMs: 60_000,
        state: {
          key: 'a1',
          tokens: 3,
          inFlight: 1,
          waiting: 2,
          blockedUntil: 1,
          throttled: 1,
          limit: 15,
          slowedUntil: 2,
        },
        expected: 1,
      },
    ],
  }),
  corrections: async () => [correction, { ...correction, state: 'open', decision: null }],
  openCorrection: async () => ({ correction: correctionDetail, run: ID }),
  correction: async () => correctionDetail,
  sendCorrection: async () => ({ correction, run: ID }),
  dismissCorrection: async () => correction,
  audit: async () => ({ entries: [{ id: '1-0', at: 1, event: 'run.triggered', who: 'ops' }], next: '1-0' }),
};
const selection: SelectionView = {
  digest: HASH,
  action: 'cancel',
  at: 1,
  items: [
    {
      id: ID,
      run: ID,
      org: 'acme',
      report: 'weekly',
      period: '2026-10',
      state: 'queued',
      recipient: null,
      mark: '0.a',
    },
  ],
  skipped: [{ id: ID, why: 'It has ended: done.' }],
  decision: { by: 'ops', reason: 'by mistake' },
  outcomes: new Map([[ID, { result: 'changed', why: 'now done' }]]),
};
const giving = (full: Partial<Access>): Access => full as Access;
/** An event stream that fails before its first event. */
const rejecting = (error: Error) => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) });
const failing = (error: Error): Access =>
  new Proxy({} as Access, {
    get: (_, name) => (name === 'watch' ? () => rejecting(error) : () => Promise.reject(error)),
  });

/** A valid request for the operation. */
function buildRequest({ method, path }: DeclaredOperation): {
  url: string;
  init: Omit<RequestInit, 'headers'> & { headers: Record<string, string> };
} {
  const url = path
    .replace('{org}', 'acme')
    .replace('{report}', 'weekly')
    .replace('{id}', path.startsWith('/api/corrections') ? `${ID}-1` : ID)
    .replace('{name}', 'a.csv')
    .replace('{digest}', HASH)
    .replace('{section}', 'onboarding')
    .replace('{delivery}', ID)
    .replace('{kind}', 'stop')
    .replace(/\/search$/, '/search?q=board')
    .replace(/^\/api\/recipients$/, '/api/recipients?of=ana@acme.example');
  const isText = path.endsWith('/validate');
  const type = isText ? 'application/yaml' : 'application/json';
  const acts = method !== 'GET';
  const headers = { authorization, ...(acts ? { 'content-type': type } : {}) };
  const body = path.endsWith('/resolve')
    ? { as: 'sent', reason: 'she has it', ...(path.endsWith('/deliveries/resolve') ? { deliveries: [ID] } : {}) }
    : path.endsWith('/runs')
      ? { period: '2026-10', deliver: false, priority: 'backfill' }
      : path.endsWith('/recipients')
        ? { to: 'b@acme.example', replaces: 'a@acme.example', target: '0-email', reason: 'typing error' }
        : path.endsWith('/decide') && path.includes('/recipients/')
          ? { as: 'approved', reason: 'checked' }
          : path.endsWith('/delegate')
            ? { to: 'dora', from: 'mlro', until: '2026-12-04', reason: 'on leave' }
            : path === '/api/corrections'
              ? { run: ID, reason: 'wrong pack', comment: 'See page 2.', definition: 'current' }
              : path.endsWith('/selections')
                ? { action: 'cancel', ids: [ID] }
                : path.endsWith('/comments/{section}')
                  ? { text: 'As planned.' }
                  : path.includes('/denied')
                    ? { list: 'ana@acme.example', reason: 'left' }
                    : path.includes('/switches/')
                      ? { organization: 'acme', reason: 'wrong figures' }
                      : { reason: 'because', ...(/\/(approve|reject)$/.test(path) ? { content: HASH } : {}) };
  const text = isText ? 'version: 1' : JSON.stringify(body);
  return { url, init: { method, headers, ...(acts ? { body: text } : {}) } };
}

describe('the OpenAPI document', () => {
  let contract: ApiContract;
  beforeAll(async () => {
    contract = await contractOf(createTestAdmin(entries));
  });
  const withAccess = (access: Access, change: Parameters<typeof createTestAdmin>[2] = {}) =>
    createTestAdmin(entries, {}, { access: () => access, ...change });
  /** Every request fails, also those of features. */
  const withFailing = (error: Error, change: Parameters<typeof createTestAdmin>[2] = {}) => {
    const searchIndex = { ...NO_SEARCH_INDEX, refresh: () => Promise.reject(error) };
    return createTestAdmin(entries, { searchIndex }, { access: () => failing(error), ...change });
  };

  it('is OpenAPI 3.1, is served without a token, and marks only the health checks and itself as public', async () => {
    const response = await createTestAdmin([]).request('/openapi.json');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(await response.json()).toMatchObject({ openapi: '3.1.0', info: { title: 'Docket', version: '0.0.0' } });
    const open = contract.operations.filter(({ security }) => security === undefined).map(({ path }) => path);
    expect(open.sort()).toEqual(['/healthz', '/openapi.json', '/readyz']);
  });

  it('gives each operation a unique name for generated clients', () => {
    const names = contract.operations.map(({ operationId }) => operationId);
    expect(names.filter((name) => !/^[a-z][A-Za-z]+$/.test(name ?? ''))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  });

  it('is where the old address of the reference page redirects', async () => {
    const response = await createTestAdmin([]).request('/api/docs');
    expect([response.status, response.headers.get('location')]).toEqual([301, '/openapi.json']);
  });

  it('declares exactly the routes that exist', async () => {
    const app = createTestAdmin(entries);
    const routes = app.routes
      .filter(({ method, path }) => method !== 'ALL' && path.startsWith('/api/') && path !== '/api/docs')
      .map(({ method, path }) => `${method} ${path.replaceAll(/:([a-z]+)/g, '{$1}')}`);
    const declared = contract.operations
      .map(({ method, path }) => `${method} ${path}`)
      .filter((route) => route.includes(' /api/'));
    expect(new Set(routes)).toEqual(new Set(declared));
  });

  it('matches the examples of docs/how-to/use-the-api.md', async () => {
    const text = await readFile('docs/how-to/use-the-api.md', 'utf8');
    const app = withAccess(giving(FULL));
    const examples = [...text.replaceAll(/\\\n\s*/g, '').matchAll(/^ *curl .*$/gm)].map(([line]) => line);
    expect(examples.length).toBeGreaterThan(9);
    for (const line of examples) {
      const url = /\$DOCKET([^"\s]*)/.exec(line)?.[1] ?? '';
      const method = /-X (\w+)/.exec(line)?.[1] ?? 'GET';
      const body = /-d '([^']*)'/.exec(line)?.[1];
      const headers = [...line.matchAll(/-H (["'])([^:]+): (.*?)\1/g)].map(
        ([, , name = '', value = '']): [string, string] => [name, value.replace('$TOKEN', token)],
      );
      const response = await app.request(url, { method, headers, ...(body === undefined ? {} : { body }) });
      expect([line, response.status]).toEqual([line, method === 'GET' ? 200 : expect.toBeOneOf([200, 202])]);
      expect(contract.fault(method, url, response, await response.text())).toBeUndefined();
    }
  });

  it('declares every response that the operations give, and no other', async () => {
    const faults: string[] = [];
    const ask = async (app: AdminApp, url: string, init: RequestInit): Promise<number> => {
      const response = await app.request(url, init);
      const fault = contract.fault(init.method ?? 'GET', url, response, await response.text());
      if (fault !== undefined) faults.push(`${init.method} ${url}: ${fault}`);
      return response.status;
    };
    const down = new DocketError('redis.unreachable', 'Redis does not answer.');
    const conflict = new DocketError('run.conflict', 'It is over.');
    const forbidden = new DocketError('auth.forbidden', 'No.');
    const narrowAuth = createPageAuth(
      entries,
      { clock: systemClock, log: silentLog },
      { limit: createRateLimit(0, systemClock) },
    );
    const full = withAccess(giving(FULL));
    const refusing = {
      403: withFailing(forbidden),
      404: withFailing(notFoundError()),
      409: withFailing(conflict),
      422: withFailing(new DocketError('usage.invalid', 'The id is too short.')),
    };
    const apps = {
      unready: withAccess(giving(FULL), { health: async () => [{ name: 'redis', ok: false, detail: 'no answer' }] }),
      down: withFailing(down, { metrics: () => Promise.reject(down) }),
      broken: withFailing(new TypeError('no'), { metrics: () => Promise.reject(new TypeError('no')) }),
      busy: withAccess(giving(FULL), { auth: narrowAuth }),
    };
    for (const operation of contract.operations) {
      const { url, init } = buildRequest(operation);
      const send = (app: AdminApp, headers: Record<string, string>, change: RequestInit = {}) =>
        ask(app, url, { ...init, ...change, headers });
      for (const app of [full, ...Object.values(apps)]) await send(app, init.headers);
      for (const [status, app] of Object.entries(refusing)) {
        if (status in operation.responses) await send(app, init.headers);
      }
      const { authorization: _, ...anonymous } = init.headers;
      await send(full, anonymous);
      await send(full, { ...anonymous, host: 'evil.example' });
      await send(full, { ...init.headers, 'if-none-match': `"${HASH}"` });
      await send(full, { ...init.headers, authorization: `Bearer ${narrow.token}` });
      await ask(full, `${url}?nothing=1`, init);
      if (operation.method === 'GET') {
        await send(full, { ...init.headers, 'if-none-match': 'x'.repeat(1001), 'last-event-id': 'x'.repeat(201) });
        if (operation.path.endsWith('/events')) {
          const events = await (await full.request(url, init)).text();
          const last = /^id: (.*)$/gm.exec(events.slice(events.lastIndexOf('id: ')))?.[1] ?? '';
          await send(full, { ...init.headers, 'last-event-id': last });
        }
        await send(full, init.headers, { method: 'HEAD' });
        continue;
      }
      await send(full, init.headers, { body: Buffer.from([0x7b, 0xff]) });
      await send(full, init.headers, { body: '{"nothing":1}' });
      await send(full, init.headers, { body: `"${'x'.repeat(300_000)}"` });
      await send(full, { ...init.headers, 'content-type': 'text/html' });
    }
    expect(faults).toEqual([]);
    const declared = contract.operations.flatMap(({ method, path, responses }) =>
      Object.keys(responses).map((status) => `${method} ${path} ${status}`),
    );
    expect(declared.filter((answer) => !contract.met.has(answer))).toEqual([]);
  });
});
