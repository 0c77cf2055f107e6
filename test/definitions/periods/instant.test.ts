import { expect, test } from 'vitest';
import { parseInstantText } from '../../../src/definitions/periods/instant.ts';

const CONTEXT = { now: Date.parse('2026-11-29T12:00:00Z'), zone: 'Europe/Zurich' };
const read = (text: string): string | undefined => {
  const at = parseInstantText(text, CONTEXT);
  return at === undefined ? undefined : new Date(at).toISOString();
};

test.each([
  ['90m', '2026-11-29T10:30:00.000Z'],
  [' 1h ', '2026-11-29T11:00:00.000Z'],
  ['Yesterday', '2026-11-27T23:00:00.000Z'],
  ['2026-11-01', '2026-10-31T23:00:00.000Z'],
  ['2026-11-21T08:00:00+01:00', '2026-11-21T07:00:00.000Z'],
])('"%s" is read as %s', (text, at) => {
  expect(read(text)).toBe(at);
});

test.each(['', 'soon', '1y', '2026-02-30', '2026-11-21T08:00', '5 Z', '__proto__', 'constructor', 'toString'])(
  '"%s" is no instant',
  (text) => {
    expect(read(text)).toBeUndefined();
  },
);
