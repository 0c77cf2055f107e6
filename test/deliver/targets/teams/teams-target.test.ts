import { expect, onTestFinished, test } from 'vitest';
import { secretSource } from '../../../../src/base/secrets/secret.ts';
import { type DeliverInput, deliver } from '../../../../src/deliver/deliver.ts';
import { destinationGuard } from '../../../../src/deliver/destination-guard.ts';
import { targetProbe } from '../../../../src/deliver/targets/registry.ts';
import { definitionWith, folderFor, ORDER, PERIOD, RUN, SETTINGS, sealedRun } from '../../../support/delivery-case.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { memoryLedger } from '../../../support/memory-ledger.ts';
import { teamsServer } from '../../../support/teams-server.ts';

const NOW = Date.UTC(2026, 10, 16, 7, 0, 30);
const HEADLINES = ['Reviews *overdue*: 62, target 0, breached', 'Profiles_created: 460'];

async function caseOf(
  manifest: Parameters<typeof sealedRun>[3] = {},
  settings: Partial<DeliverInput['settings']> = {},
) {
  const server = await teamsServer();
  onTestFinished(() => server.close());
  const root = await folderFor(onTestFinished);
  const { archive, published } = await sealedRun(root, undefined, undefined, { headlines: HEADLINES, ...manifest });
  const input: DeliverInput = {
    order: ORDER,
    definition: definitionWith([{ teams: { url: { env: 'FLOW' }, body: 'summary' } }]),
    settings: { ...SETTINGS, allow_private: true, ...settings },
    secrets: secretSource({ FLOW: server.url }),
    published,
    mail: undefined,
    ledger: memoryLedger(),
    archive,
    clock: manualClock(NOW),
    signal: new AbortController().signal,
    observe: () => {},
    workingDirectory: root,
    publicUrl: 'https://docket.acme.example',
  };
  const once = async () => (await deliver(input)).receipts[0]!;
  return { server, input, once };
}

test('the workflow gets a card with the summary and a link, without markup from names', async () => {
  const { server, once } = await caseOf();
  server.answer({ status: 200, posts: true });
  const receipt = await once();
  expect(receipt).toMatchObject({
    state: 'sent',
    recipient: 'Teams workflow of FLOW',
    detail: expect.stringContaining('Posted'),
  });
  const [card] = server.posted;
  const texts = card?.body.map(({ inlines: [run] }) => run?.text);
  expect(texts).toEqual(['Weekly KPIs, 2026-W46', 'Acme Ltd', ...HEADLINES.map((line) => `• ${line}`)]);
  expect(card?.actions).toEqual([
    { type: 'Action.OpenUrl', title: 'Open the run in Docket', url: `https://docket.acme.example/runs/${RUN}` },
  ]);
});

test('a card stays below the size limit of Teams for any report', async () => {
  const headlines = Array.from({ length: 100 }, () => '🟥'.repeat(2_000));
  const { server, once } = await caseOf({ headlines, title: '報'.repeat(2_000), organization: '告'.repeat(2_000) });
  server.answer({ status: 200, posts: true });
  expect(await once()).toMatchObject({ state: 'sent' });
  expect(server.posted).toHaveLength(1);
  expect(server.sizes[0]).toBeLessThan(28 * 1024);
});

test('a reply of 202 counts as sent, and the receipt says that only the workflow has accepted it', async () => {
  const { server, once } = await caseOf();
  server.answer({ status: 202, posts: false });
  expect(await once()).toMatchObject({
    state: 'sent',
    detail: expect.stringMatching(/^Accepted by the workflow \(HTTP 202\)/),
  });
  expect(server.posted).toHaveLength(0);
});

test.each([
  [200, true, 'sent'],
  [204, false, 'sent'],
  [301, false, 'refused'],
  [400, false, 'refused'],
  [401, false, 'refused'],
  [404, false, 'refused'],
  [410, false, 'refused'],
  [413, false, 'refused'],
  [429, false, 'pending'],
  [408, true, 'unknown'],
  [500, false, 'unknown'],
  [502, true, 'unknown'],
  [504, true, 'unknown'],
  ['cut', true, 'unknown'],
  ['cut', false, 'unknown'],
] as const)(
  'a reply of %s (posted: %s) leaves the delivery %s, and nothing is posted twice',
  async (status, posts, state) => {
    const { server, once } = await caseOf();
    server.answer({ status, posts });
    const receipt = await once();
    expect(receipt.state).toBe(state);
    expect(receipt.detail).not.toContain(server.secret);
    server.answer({ status: 200, posts: true });
    expect(await once()).toMatchObject({ state: state === 'pending' ? 'sent' : state });
    expect(server.posted).toHaveLength(posts || state === 'pending' ? 1 : 0);
  },
);

test.each([
  ['the signature alone', (url: URL) => `bad signature ${url.searchParams.get('sig')}`],
  ['an escaped URL', (url: URL) => JSON.stringify({ url: url.href }).replaceAll('&', '\\u0026')],
  ['a decoded URL', (url: URL) => decodeURIComponent(url.pathname + url.search)],
])('%s in an error is not shown', async (_, textOf) => {
  const { server, once } = await caseOf();
  server.answer({ status: 404, posts: false, text: textOf(new URL(server.url)) });
  const { state, detail } = await once();
  expect(state).toBe('refused');
  expect(detail).toContain('[secret]');
  expect(detail).not.toContain(server.secret);
});

test.each([200, 202])(
  'a web page with status %s, as filters and sign-in pages answer, is not a sent card',
  async (status) => {
    const { server, once } = await caseOf();
    server.answer({ status, posts: false, text: '\n<!DOCTYPE html><title>Blocked by policy</title>' });
    expect(await once()).toMatchObject({ state: 'unknown', detail: expect.stringContaining('Blocked by policy') });
  },
);

test('a host outside of the allow-list, or a private one, gets no request', async () => {
  const listed = await caseOf(
    {},
    { destinations: { hosts: ['prod.westeurope.logic.azure.com'], buckets: [], folders: [] } },
  );
  expect(await listed.once()).toMatchObject({ state: 'refused', detail: expect.not.stringContaining('127.0.0.1') });
  const isPrivate = await caseOf({}, { allow_private: false });
  expect(await isPrivate.once()).toMatchObject({ state: 'refused' });
  expect([listed.server.sizes, isPrivate.server.sizes]).toEqual([[], []]);
});

test('a missing secret or an unreachable server leaves the delivery pending', async () => {
  const { server, input, once } = await caseOf();
  expect((await deliver({ ...input, secrets: secretSource({}) })).receipts[0]).toMatchObject({ state: 'pending' });
  await server.close();
  expect(await once()).toMatchObject({ state: 'pending' });
});

test('doctor connects and posts nothing', async () => {
  const { server } = await caseOf();
  const probe = (value: string) =>
    targetProbe(
      { teams: { url: { env: 'FLOW' }, body: 'summary' } },
      {
        variables: { period: PERIOD, org: 'acme', report: 'weekly', title: 'Weekly', run: 'doctor' },
        secrets: secretSource({ FLOW: value }),
        allowPrivate: true,
        guard: destinationGuard({ id: 'acme' }),
        workingDirectory: '/',
      },
    )!.probe();
  expect(await probe(server.url)).toContain('FLOW');
  await expect(probe('not a url')).rejects.toMatchObject({ code: 'config.invalid' });
  await server.close();
  await expect(probe(server.url)).rejects.toMatchObject({ code: 'deliver.target_failed' });
  expect(server.sizes).toEqual([]);
});
