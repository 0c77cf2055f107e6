import { describe, expect, test } from 'vitest';
import { queryDeliveries } from '../../../src/services/deliveries/query-deliveries.ts';
import type { Deployment } from '../../../src/services/deployment/deployment.ts';
import { fake } from '../../support/fake.ts';
import { memoryLedger } from '../../support/memory-ledger.ts';

const idOf = (index: number): string => index.toString(16).padStart(32, '0');

/** A ledger whose deliveries are `unknown` since these instants. `orgOf` gives their organizations. */
async function waiting(since: readonly number[], orgOf = (_: number) => 'acme') {
  const ledger = memoryLedger();
  for (const [index, at] of since.entries()) {
    const row = {
      id: idOf(index),
      run: idOf(1000 + index),
      org: orgOf(index),
      report: 'weekly',
      target: '0-email',
      recipient: 'a',
    };
    await ledger.open(row, at);
    await ledger.begin(row.id, at);
    await ledger.settle(row.id, 1, 'unknown', 'the connection broke', at);
  }
  return fake<Deployment>({ ledger, runs: fake({ list: async () => [] }) });
}

describe('deliveries that wait for a decision', () => {
  test('come page by page, the longest waiting first, each once, even if several have the same time', async () => {
    const ports = await waiting([3000, 1000, 2000, 2000, 2000]);
    const seen: string[] = [];
    const sizes: number[] = [];
    let after: string | null = null;
    do {
      const page = await queryDeliveries({ orgs: '*', state: 'unknown', limit: 2, ...(after && { after }) }, ports);
      seen.push(...page.deliveries.map(({ id }) => id));
      sizes.push(page.deliveries.length);
      after = page.next;
    } while (after !== null);
    expect(seen).toEqual([1, 2, 3, 4, 0].map(idOf));
    expect(sizes).toEqual([2, 2, 1]);
  });

  test('are limited to visible organizations, and a page that holds the rest is the last', async () => {
    const ports = await waiting([1000, 2000, 3000], (index) => (index === 1 ? 'rival' : 'acme'));
    const page = await queryDeliveries({ orgs: ['acme'], state: 'unknown', limit: 2 }, ports);
    expect(page.deliveries.map(({ id }) => id)).toEqual([0, 2].map(idOf));
    expect(page.next).toBeNull();
  });

  test('cannot be listed after an invalid cursor', async () => {
    const ports = await waiting([]);
    const page = queryDeliveries({ orgs: '*', state: 'unknown', limit: 2, after: 'yesterday' }, ports);
    await expect(page).rejects.toMatchObject({ code: 'usage.invalid' });
  });
});
