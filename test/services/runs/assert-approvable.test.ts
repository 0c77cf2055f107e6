import { expect, test } from 'vitest';
import { assertApprovable } from '../../../src/services/runs/assert-approvable.ts';
import { definitionOf, settingsOf } from '../../support/reports.ts';

const people = { mlro: { name: 'Mia Lro', tokens: ['mia'], accounts: ['mia@acme.example', '8f2c'] } };
const report = (need: number, fourEyes = true) => ({
  definition: definitionOf([{ id: 'kpis', metrics: ['profiles.created'] }], {
    approval: { by: ['mlro', 'cfo'], need, four_eyes: fourEyes, otherwise: 'hold' },
  }),
  settings: settingsOf({ people }),
});
const codeOf = (of: ReturnType<typeof report>, by: string | undefined, bySubject?: string) => {
  try {
    assertApprovable(of, { by, bySubject });
    return null;
  } catch (thrown) {
    return (thrown as { code?: string }).code;
  }
};

test('a run that too few other people could approve is not triggered', () => {
  const unreachable = 'approval.unreachable';
  expect(codeOf(report(2), 'mia@acme.example')).toBe(unreachable);
  expect(codeOf(report(2), 'MIA')).toBe(unreachable);
  expect(codeOf(report(2), 'cfo')).toBe(unreachable);
  expect([codeOf(report(1), 'mia'), codeOf(report(2), 'anna'), codeOf(report(2), undefined)]).toEqual([
    null,
    null,
    null,
  ]);
  expect(codeOf(report(2, false), 'mia')).toBeNull();
  // An account in `people` by its subject, whatever its address.
  expect(codeOf(report(2), 'm.lro@acme.example', 'https://id.example 8f2c')).toBe(unreachable);
});
