import { expect, test } from 'vitest';
import { secretSource } from '../../../src/base/secrets/secret.ts';
import { explainReport } from '../../../src/services/definitions/explain-report.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { CATALOG, definitionOf, settingsOf, WEEK } from '../../support/reports.ts';

const definition = definitionOf([
  { id: 'created', metrics: ['profiles.created'] },
  { id: 'end', metrics: ['alerts.open'] },
]);
const explained = async (now: string, metrics: readonly string[] | undefined) => {
  const readings = metrics && { at: '22:30', metrics: [...metrics], by: [] };
  const { tokens, sections } = await explainReport(
    { definition, settings: settingsOf(readings && { readings }) },
    { period: WEEK },
    {
      catalog: CATALOG,
      secrets: secretSource({}, {}),
      budgetOf: undefined,
      clock: manualClock(Date.parse(now)),
    },
  );
  return [tokens, sections.filter(({ readings: read }) => read).map(({ id }) => id)];
};

test('a section with stored readings needs no call once its last day was read', async () => {
  expect(await explained('2026-11-16T07:00:00Z', ['alerts.open'])).toEqual([1, ['end']]);
  expect(await explained('2026-11-15T21:45:00Z', ['alerts.open'])).toEqual([2, []]);
  expect(await explained('2026-11-16T07:00:00Z', ['rfis.open'])).toEqual([2, []]);
  expect(await explained('2026-11-16T07:00:00Z', undefined)).toEqual([2, []]);
});
