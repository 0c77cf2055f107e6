import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Access } from '../../src/admin/access/access.ts';
import { actionNotice } from '../../src/admin/page/routes/notices.ts';
import { DocketError } from '../../src/base/error.ts';
import type { ReviewPhase } from '../../src/run/review/review-state.ts';
import type { DeliveryState } from '../../src/services/deliveries/decisions.ts';
import type { ReviewView } from '../../src/services/reviews/review-service.ts';
import { cookieClient, createToken } from '../support/authenticated-app.ts';
import { openPage } from '../support/open-page.ts';
import {
  corrections,
  correctionView,
  failed,
  held,
  inReview,
  NOW,
  pause,
  reviewView,
  running,
  runOf,
  unknown,
} from '../support/page-data.ts';
import { textCollector } from '../support/page-texts.ts';
import { randomPrefix } from '../support/queue-harness.ts';

const anna = createToken('anna');
const prefix = randomPrefix();
let redis: Redis;
beforeAll(() => {
  redis = new Redis(inject('redisUrl'));
});
afterAll(() => redis.quit());

const newTexts = textCollector();

const NOTHING: Partial<Access> = {
  organizations: async () => [],
  reports: async () => ({ reports: [], next: null }),
  runs: async () => ({ runs: [], next: null }),
  slots: async () => [],
  deliveries: async () => ({ deliveries: [], next: null }),
  pauses: async () => [],
  budgets: async () => ({ budgets: [], unknown: [] }),
  files: async () => [],
};
const failing = (error: DocketError) => ({ run: () => Promise.reject(error), trigger: () => Promise.reject(error) });
const runAs = (...args: Parameters<typeof runOf>): Partial<Access> => {
  const record = runOf(...args);
  return {
    run: async () => record,
    watch: async function* () {
      yield { record, live: null };
    },
  };
};
const CANCELLED = { by: 'anna', reason: 'x', at: NOW };

/** A review in each of its phases. */
const reviewed = (phase: ReviewPhase, change: Partial<ReviewView> = {}): readonly [string, Partial<Access>] => {
  const view = { ...reviewView, ...change, state: { ...reviewView.state, phase } };
  return [`/runs/${inReview.id}`, { ...runAs('in-review', 'awaiting_approval'), review: async () => view }];
};
const UNDECIDED = { refusal: 'You have approved it.', canReject: false, files: [] } as const;

const VIEWS: readonly (readonly [path: string, change?: Partial<Access>])[] = [
  ['/'],
  ['/', { pauses: async () => [{ ...pause, key: 'k_1', report: null }] }],
  ['/', NOTHING],
  reviewed('approval'),
  reviewed('incomplete', UNDECIDED),
  ...(['figures', 'comments', 'ready', 'sealed', 'rejected', 'cancelled'] as const).map((phase) =>
    reviewed(phase, UNDECIDED),
  ),
  ['/corrections', { corrections: async () => corrections }],
  ['/corrections', NOTHING],
  [`/corrections/${correctionView.id}`, { correction: async () => correctionView }],
  ['/reports'],
  ['/reports', NOTHING],
  ['/reports/acme/weekly-kpi'],
  ['/reports/acme/weekly-kpi', NOTHING],
  ['/reports/acme/rfi-ageing'],
  ['/runs'],
  ['/runs', NOTHING],
  ['/runs?state=failed', NOTHING],
  [`/runs/${running.id}`],
  [`/runs/${failed.id}`],
  [`/runs/${held.id}`],
  [`/runs/${held.id}`, { heldRun: async () => ({ missing: null, recipients: null, error: null }) }],
  ['/runs/a', runAs('a', 'queued', { cancel: CANCELLED as never, files: [], timings: {} })],
  ['/runs/b', runAs('b', 'waiting', { until: NOW + 60_000, files: [], timings: {}, deliver: false })],
  ['/runs/c', { ...NOTHING, ...runAs('c', 'failed', { files: [], timings: {}, starts: 3 }) }],
  ['/runs/d', { ...NOTHING, ...runAs('d', 'partly_delivered') }],
  ['/deliveries'],
  ['/deliveries', NOTHING],
  [`/deliveries/${unknown.id}`],
  ['/slots'],
  ['/slots', NOTHING],
  ['/pauses'],
  ['/pauses', NOTHING],
  ['/audit'],
  ['/deliveries?to=board%40'],
  ['/deliveries?to=nobody', { received: async () => ({ deliveries: [], next: null }) }],
  ['/runs?period=nonsense', { runs: () => Promise.reject(new DocketError('usage.invalid', 'Invalid period.')) }],
  ['/runs/none', failing(new DocketError('request.not_found', 'No such run.'))],
];

const RUN = '/reports/acme/weekly-kpi/run';
const RESOLVE = `/deliveries/${unknown.id}/resolve`;
const FORMS: readonly (readonly [path: string, fields: Readonly<Record<string, string>>, change?: Partial<Access>])[] =
  [
    [RUN, { deliver: 'no', from: '2026-11-01' }],
    [RUN, {}],
    [RUN, { deliver: 'yes' }, failing(new DocketError('already_delivered', 'Delivered before.'))],
    [RESOLVE, { reason: 'x' }],
    [RESOLVE, { as: 'sent', reason: ' ' }],
    ['/runs/none/retry', { reason: 'x' }],
  ];

test('the texts of the page equal the recorded ones', async () => {
  const document: string[] = [];
  const add = (name: string, html: string) => document.push(`== ${name}`, ...newTexts(html), '');
  const open = (change: Partial<Access> = {}) => openPage({ redis, prefix }, [anna.entry], () => change);

  const visitor = cookieClient(open());
  add('/sign-in', await (await visitor.send('GET', '/sign-in')).text());
  const refused = await visitor.send('POST', '/sign-in', { body: { token: 'docket_wrong' } });
  add('/sign-in, refused', await refused.text());
  for (const [path, change] of VIEWS) {
    const { send } = await open(change).visit(anna.token);
    add(path, await (await send('GET', path)).text());
  }
  for (const [path, fields, change] of FORMS) {
    const { post } = await open(change).visit(anna.token);
    add(`${path} ${JSON.stringify(fields)}`, await (await post(path, fields)).text());
  }
  const actions = ['opened', 'repeated', 'paused', 'resumed', 'cancel', 'retry', 'release', 'sent', 'resend'];
  const states: readonly DeliveryState[] = ['pending', 'sending', 'sent', 'refused', 'unknown'];
  document.push('== notices', ...actions.map((did) => actionNotice(did) ?? ''));
  document.push(...states.map((state) => actionNotice('resend', { state }) ?? ''));
  await expect(`${document.join('\n')}\n`).toMatchFileSnapshot('page.txt');
});
