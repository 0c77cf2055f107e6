import { expect, test } from 'vitest';
import type { Definition } from '../../src/definitions/schema/report-definition.ts';
import type { Manifest } from '../../src/deliver/archive/manifest.ts';
import { assertApproved } from '../../src/deliver/deliver.ts';

const given = (person: string, principal: string) => ({ person, principal, name: person, at: '', reason: '' });
const [ANN, ANN_AGAIN, BEN] = [given('ann', 'token:a'), given('ann', 'token:b'), given('ben', 'token:c')];
const SAME_TOKEN = given('cia', 'token:a');

test.each([
  ['no review', 1, undefined, false],
  ['a review that nobody approved', 1, [], false],
  ['one of one', 1, [ANN], true],
  ['one person twice', 2, [ANN, ANN_AGAIN], false],
  ['one token for two persons', 2, [ANN, SAME_TOKEN], false],
  ['two of two', 2, [ANN, BEN], true],
] as const)('approval is checked for %s', (_, need, approved_by, passes) => {
  const approval = { by: ['ann', 'ben'], need, four_eyes: true, otherwise: 'hold' } as Definition['approval'];
  const review = approved_by && { content: 'c', figures: 'f', need, approved_by, comments: [] };
  const check = () => assertApproved({ approval }, { run: 'r', review } as unknown as Manifest);
  if (passes) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code: 'review.not_approved' }));
  expect(() => assertApproved({ approval: undefined }, { run: 'r' } as Manifest)).not.toThrow();
});
