import { expect, it } from 'vitest';
import { NEVER } from '../../../src/sandbox/generator/fact-tables.ts';
import { generateHistory } from '../../../src/sandbox/generator/history.ts';
import { ORGANIZATIONS } from '../../../src/sandbox/generator/organizations.ts';
import { snapshotAt } from '../../../src/sandbox/reports/snapshot.ts';

const NOW = Date.parse('2026-04-08T08:30:00Z');
const lakeside = ORGANIZATIONS.find(({ name }) => name === 'Lakeside Trust')!;
const history = generateHistory(lakeside, 1, NOW, NOW);
const { profiles, changes, alerts, hits } = history.facts;

it('a snapshot contains a change from the second in which it happens', () => {
  for (const row of [0, 100, 500]) {
    const first = profiles.changes[row]!;
    const at = changes.at[first + 1]!;
    expect(snapshotAt(history, at).status[row]).toBe(changes.to[first + 1]);
    expect(snapshotAt(history, at).since[row]).toBe(at);
    expect(snapshotAt(history, at - 1000).status[row]).toBe(changes.to[first]);
  }
  const closed = alerts.closed.findIndex((at, row) => at !== NEVER && at > alerts.assigned[row]!);
  const status = (at: number) => snapshotAt(history, at).column('alerts', 'alert.status')[closed];
  expect(status(alerts.closed[closed]!)).toBe(alerts.outcome[closed]);
  expect(status(alerts.closed[closed]! - 1000)).toBe(1);
  expect(status(alerts.assigned[closed]!)).toBe(1);
  expect(status(alerts.assigned[closed]! - 1000)).toBe(0);
  const resolved = hits.resolved.findIndex((at) => at !== NEVER);
  const resolution = (at: number) => snapshotAt(history, at).column('hits', 'hit.resolution')[resolved];
  expect(resolution(hits.resolved[resolved]!)).toBe(hits.resolution[resolved]);
  expect(resolution(hits.resolved[resolved]! - 1000)).toBe(0);
});

it('the age of a review counts whole days: the first group ends when three days are complete', () => {
  const at = profiles.created[0]!;
  const day = 86_400_000;
  const still = { ...history, facts: { ...history.facts, changes: { at: changes.at.slice(), to: changes.to } } };
  // As if the first profile had never left its first status.
  still.facts.changes.at.fill(NEVER, profiles.changes[0]! + 1, profiles.changes[1]);
  const ageAfter = (ms: number) => snapshotAt(still, at + ms).column('profiles', 'review.age')[0];
  const edges = [0, 3 * day - 1000, 3 * day, 8 * day - 1000, 8 * day, 15 * day - 1000, 15 * day];
  expect(edges.map(ageAfter)).toEqual([0, 0, 1, 1, 2, 2, 3]);
});
