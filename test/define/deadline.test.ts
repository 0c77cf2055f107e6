import { expect, test } from 'vitest';
import { deadlineSchema } from '../../src/define/deadline.ts';
import { aReport } from '../support/queue-bench.ts';

test.each([
  [60, 60],
  ['60s', 60],
  ['30m', 1_800],
  ['4h', 14_400],
  ['7d', 604_800],
  ['8d', undefined],
  ['59s', undefined],
  [0, undefined],
  [604_801, undefined],
  [90.5, undefined],
  ['1 h', undefined],
  ['', undefined],
  [null, undefined],
])('%o is read as %o seconds', (written, seconds) => {
  const { data, error } = deadlineSchema.safeParse(written);
  expect(data).toBe(seconds);
  if (error !== undefined) expect(error.issues.map(({ message }) => message).join()).toContain('90s, 30m, 4h or 2d');
});

test('a report that says nothing has a day', () => {
  expect(aReport().definition.deadline).toBe(86_400);
});
