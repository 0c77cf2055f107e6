import { expect, test } from 'vitest';
import {
  findSwitch,
  NO_SWITCHES,
  type Switch,
  stoppedMs,
  withoutSwitch,
  withSwitch,
} from '../../../src/deliver/switches/switches.ts';

const stop = (org: string | null, since: number, by = 'ana'): Switch => ({
  kind: 'stop',
  org,
  by,
  reason: 'wrong figures',
  since,
});
const AUTHOR = { by: 'ben', reason: 'corrected' };

test('a stop of everything takes precedence, and a stop of one organization covers no other', () => {
  const acme = withSwitch(NO_SWITCHES, stop('acme', 10));
  expect(findSwitch(acme, 'stop', 'acme')).toMatchObject({ org: 'acme' });
  expect(findSwitch(acme, 'stop', 'beta')).toBeUndefined();
  expect(findSwitch(acme, 'hold', 'acme')).toBeUndefined();
  const all = withSwitch(acme, stop(null, 20));
  expect(findSwitch(all, 'stop', 'acme')).toMatchObject({ org: null });
  expect(findSwitch(all, 'stop', 'beta')).toMatchObject({ org: null });
});

test('a switch that is on keeps its first author and reason, and its version', () => {
  const first = withSwitch(NO_SWITCHES, stop('acme', 10));
  expect(withSwitch(first, stop('acme', 20, 'zoe'))).toBe(first);
  expect(withoutSwitch(first, { kind: 'stop', org: null }, AUTHOR, 30)).toBe(first);
});

test('overlapping stops are counted once, and only those of the organization', () => {
  let state = withSwitch(NO_SWITCHES, stop('acme', 10));
  state = withSwitch(state, stop(null, 20));
  state = withoutSwitch(state, { kind: 'stop', org: 'acme' }, AUTHOR, 30);
  state = withoutSwitch(state, { kind: 'stop', org: null }, AUTHOR, 40);
  state = withSwitch(state, stop('acme', 50));
  expect(state.version).toBe(5);
  expect(stoppedMs(state, 'acme', 0, 60)).toBe(30 + 10);
  expect(stoppedMs(state, 'beta', 0, 60)).toBe(20);
  expect(stoppedMs(state, 'acme', 15, 25)).toBe(10);
  expect(stoppedMs(state, 'acme', 41, 49)).toBe(0);
});
