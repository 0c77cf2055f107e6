import { expect, test } from 'vitest';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import { createCorrectionService } from '../../../src/services/corrections/correction-service.ts';
import { createDecisionService } from '../../../src/services/deliveries/decisions.ts';
import { createRecipientService } from '../../../src/services/deliveries/recipients.ts';
import { createReviewService } from '../../../src/services/reviews/create-review-service.ts';
import { createSelectionService } from '../../../src/services/selections/create-selection-service.ts';
import { createTestAdmin } from '../../support/admin.ts';
import { loadedJobs } from '../../support/loaded-jobs.ts';
import { anOrder, reportDefinition } from '../../support/queue-harness.ts';
import { testDeployment } from '../../support/test-deployment.ts';

const tokens = { own: newToken(), viewer: newToken(), rival: newToken() };
const entries: TokenEntry[] = [
  { name: 'own', sha256: tokens.own.sha256, role: 'operator', orgs: ['acme'] },
  { name: 'eyes', sha256: tokens.viewer.sha256, role: 'viewer', orgs: ['acme'] },
  { name: 'rival', sha256: tokens.rival.sha256, role: 'operator', orgs: ['rival'] },
];

/** An archive and a Redis with two runs of acme, one of which has ended, and a token of each organization. */
async function deployed() {
  const frozen = reportDefinition('weekly');
  const deployment = await testDeployment({ orgs: () => new Map([[frozen.settings.id, frozen.settings]]) });
  await deployment.identity.id();
  const { digest } = frozen.definition;
  const { record } = await deployment.runs.open(anOrder({ report: 'weekly', digest }), frozen);
  await deployment.runs.update(record.id, { state: 'done', finishedAt: Date.now() });
  const decisions = createDecisionService(deployment);
  const selections = createSelectionService(deployment, decisions);
  const jobs = loadedJobs(frozen, reportDefinition('weekly', undefined, 'rival'));
  const app = createTestAdmin(entries, {
    ...deployment,
    jobs: () => jobs,
    decisions,
    selections,
    recipients: createRecipientService(deployment),
    reviewService: createReviewService(deployment, undefined),
    correctionService: createCorrectionService(deployment),
  });
  const call = async (as: keyof typeof tokens, method: string, path: string, body?: unknown) => {
    const response = await app.request(path, {
      method,
      headers: { authorization: `Bearer ${tokens[as].token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const queued = await deployment.runs.open(anOrder({ report: 'weekly', digest, slot: 'trigger:later' }), frozen);
  const preview = await selections.preview({ action: 'cancel', ids: [queued.record.id] }, ['acme']);
  return { call, run: record.id, digest: preview.digest };
}

const reason = 'an incident';
type Place = Pick<Awaited<ReturnType<typeof deployed>>, 'run' | 'digest'>;
/** `own`: what the organization's operator gets. `viewer`: what its viewer gets; 403 by default. */
const REQUESTS: readonly (readonly [
  path: (place: Place) => string,
  body: (place: Place) => object,
  expected: { readonly own: number; readonly viewer?: number },
])[] = [
  [() => '/api/corrections', ({ run }) => ({ run, reason }), { own: 409 }],
  [({ run }) => `/api/runs/${run}/recipients`, () => ({ to: 'a@acme.example', reason }), { own: 409 }],
  [
    ({ run }) => `/api/runs/${run}/recipients/${'f'.repeat(32)}/decide`,
    () => ({ as: 'approved', reason }),
    { own: 409, viewer: 409 },
  ],
  [({ run }) => `/api/runs/${run}/delegate`, () => ({ to: 'dora', reason }), { own: 409, viewer: 409 }],
  [() => '/api/switches/stop', () => ({ organization: 'acme', reason }), { own: 200 }],
  [() => '/api/switches/stop/release', () => ({ organization: 'acme', reason }), { own: 200 }],
  [() => '/api/switches/hold', () => ({ organization: 'acme', reason }), { own: 200 }],
  [() => '/api/switches/hold/release', () => ({ organization: 'acme', reason }), { own: 200 }],
  [() => '/api/selections', () => ({ action: 'cancel', filter: { org: 'acme' } }), { own: 200 }],
];

test('a token of another organization gets 404 for every change, and a viewer 403', async () => {
  const { call, ...place } = await deployed();
  for (const [path, body, { own, viewer = 403 }] of REQUESTS) {
    const sent = ['POST', path(place), body(place)] as const;
    const reported = path({ run: 'RUN', digest: 'DIGEST' });
    expect(await call('rival', ...sent), reported).toMatchObject({ status: 404, body: { code: 'request.not_found' } });
    expect((await call('viewer', ...sent)).status, reported).toBe(viewer);
    const mine = await call('own', ...sent);
    expect(mine.status, `${reported} ${JSON.stringify(mine.body)}`).toBe(own);
  }
});

test('a token of another organization finds nothing of a selection, and decides nothing', async () => {
  const { call, run, digest } = await deployed();
  const named = { action: 'retry', ids: [run] };
  const [own, rival] = [
    await call('own', 'POST', '/api/selections', named),
    await call('rival', 'POST', '/api/selections', named),
  ];
  const unknown = await call('rival', 'POST', '/api/selections', { ...named, ids: ['e'.repeat(32)] });
  const why = ({ body }: typeof own) => (body.skipped as { readonly why: string }[])[0]?.why;
  expect(rival).toMatchObject({ status: 200, body: { items: [], skipped: [{ id: run }] } });
  expect(why(rival)).toBe(why(unknown));
  expect(why(rival)).not.toBe(why(own));
  for (const [method, path] of [
    ['GET', `/api/selections/${digest}`],
    ['POST', `/api/selections/${digest}/decide`],
  ] as const) {
    const body = method === 'GET' ? undefined : { reason };
    expect((await call('rival', method, path, body)).status, path).toBe(404);
    expect((await call('own', method, path, body)).status, path).toBe(200);
  }
});

test('the deny list of the deployment is hidden from tokens of some organizations, operators too', async () => {
  const { call } = await deployed();
  for (const as of ['own', 'rival'] as const) {
    expect((await call(as, 'GET', '/api/denied')).status).toBe(404);
    expect((await call(as, 'POST', '/api/denied', { list: 'ana@acme.example', reason })).status).toBe(404);
    expect((await call(as, 'POST', '/api/denied/remove', { list: 'ana@acme.example', reason })).status).toBe(404);
  }
});
