import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { secretSource } from '../../src/base/secrets/secret.ts';
import { directoryArchive } from '../../src/deliver/archive/inline-archive.ts';
import { FORMATS } from '../../src/features/formats.ts';
import { memoryResponseStore } from '../../src/fetch/cache/response-store.ts';
import type { Dataset } from '../../src/fetch/dataset.ts';
import { fetchDataset } from '../../src/fetch/fetch-dataset.ts';
import { memoryBudget } from '../../src/fetch/rate-limit/memory-budget.ts';
import { compilePlan } from '../../src/plan/compile.ts';
import { hashFigures } from '../../src/render/hash-figures.ts';
import { createRenderer } from '../../src/render/renderer.ts';
import { run } from '../../src/run/run.ts';
import { createRunOrder } from '../../src/run/run-order.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, NOW, openSandbox } from '../support/fetch-harness.ts';
import { manualClock } from '../support/manual-clock.ts';
import { memoryLedger } from '../support/memory-ledger.ts';
import { definitionOf, settingsOf } from '../support/reports.ts';

const OCTOBER = { from: '2026-10-01', to: '2026-10-31' };
const definition = definitionOf(
  [
    { id: 'kpis', metrics: ['profiles.approval_rate', 'profiles.time_to_decision_p50'] },
    { id: 'risk', metrics: ['profiles.approval_rate'], dimensions: ['profile.risk'], totals: true },
  ],
  { period: OCTOBER, compare: ['previous_period'], outputs: [{ format: 'csv' }], max_age: 0 },
);
const settings = settingsOf();

let sandbox: Sandbox;
let folder: string;
beforeAll(async () => {
  sandbox = await openSandbox();
  folder = await mkdtemp(join(tmpdir(), 'docket-older-'));
});
afterAll(async () => {
  await sandbox.close();
  await rm(folder, { recursive: true, force: true });
});

/** A run that a version without bases began: its first answers are stored. */
async function begun(slot: string, stored: boolean) {
  const clock = manualClock(NOW);
  const trigger = { trigger: 'cli', priority: 'on_demand', slot, at: NOW, deliver: false, now: NOW } as const;
  const order = createRunOrder({ definition, settings, ...trigger });
  const budget = memoryBudget({ calls: 1_000, windowMs: 1, clock });
  const responses = memoryResponseStore();
  const fetching = fetchingFrom(sandbox.url, keyOf(sandbox, 'acme'), { budget, clock, responses, run: order.id });
  const catalog = await fetching.client.catalog('current', fetching.signal);
  const plain = compilePlan({ definition, settings, period: order.period, catalog, bases: false });
  const older = doneOf(await fetchDataset({ ...fetching, plan: plain, catalog, organization: 'Acme' }));
  let shown: Dataset | undefined;
  const render = createRenderer(FORMATS);
  const goOn = async (fresh?: true) => {
    const calls: { readonly call: string; readonly saved: boolean }[] = [];
    doneOf(
      await run(
        order,
        {
          ...{ definition, settings, signal: fetching.signal, lastAttempt: true },
          ...(fresh === undefined ? {} : { fresh }),
          observe: (event) => {
            if (event.type === 'fetched') calls.push({ call: event.call, saved: event.saved });
          },
        },
        {
          ...fetching,
          ...(stored ? {} : { responses: memoryResponseStore() }),
          secrets: secretSource({}),
          formats: FORMATS,
          render: (request, signal) => {
            shown = request.dataset;
            return render(request, signal);
          },
          archive: directoryArchive(join(folder, slot), clock),
          ledger: memoryLedger(),
          mail: undefined,
          templates: undefined,
          workingDirectory: folder,
        },
      ),
    );
    if (shown === undefined) throw new Error('nothing was rendered');
    return { calls, shown };
  };
  return { older, plain, goOn };
}

const idsOf = (calls: readonly { readonly call: string }[]) => calls.map(({ call }) => call).sort();

test('a run that a version without bases began continues with its stored answers, and shows the same figures', async () => {
  const { older, plain, goOn } = await begun('begun', true);
  const { calls, shown } = await goOn();
  expect(plain.calls.length).toBeGreaterThan(1);
  expect(idsOf(calls)).toEqual(plain.calls.map(({ id }) => id).sort());
  expect(calls.every(({ saved }) => saved)).toBe(true);
  expect(shown.tables).toEqual(older.tables);
  expect(JSON.stringify(shown.tables)).not.toContain('"cases":');
  expect(await hashFigures(shown)).toBe(await hashFigures(older));
});

test('a run with no stored answers, or that wants fresh figures, requests bases without more calls', async () => {
  for (const [slot, stored, fresh] of [
    ['new', false, undefined],
    ['fresh', true, true],
  ] as const) {
    const { older, plain, goOn } = await begun(slot, stored);
    const { calls, shown } = await goOn(fresh);
    expect(calls).toHaveLength(plain.calls.length);
    expect(idsOf(calls)).not.toEqual(plain.calls.map(({ id }) => id).sort());
    expect(calls.some(({ saved }) => saved)).toBe(false);
    expect(JSON.stringify(shown.tables)).toContain('"cases":');
    expect(await hashFigures(shown)).toBe(await hashFigures(older));
  }
});
