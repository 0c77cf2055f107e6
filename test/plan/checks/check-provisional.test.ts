import { expect, test } from 'vitest';
import { isProvisional } from '../../../src/contract/catalog.ts';
import { provisionalWarnings } from '../../../src/plan/checks/check-bases.ts';
import { METRICS } from '../../../src/sandbox/reports/metrics.ts';
import { CATALOG, definitionOf } from '../../support/reports.ts';

const describedAs = (description: string) => ({
  metrics: CATALOG.metrics.map((metric) =>
    metric.id === 'profiles.approval_rate' ? { ...metric, description } : metric,
  ),
});
const definition = definitionOf([
  { id: 'a', metrics: ['profiles.created', 'profiles.approval_rate'] },
  { id: 'b', metrics: ['cohort.completion_rate'] },
]);

test('only metrics that count later events by the date of arrival are provisional', () => {
  expect(
    METRICS.map(({ id }) => id)
      .filter((id) => isProvisional({ id }))
      .sort(),
  ).toEqual([
    'blockchain_addresses.by_risk',
    'blockchain_addresses.time_to_first_screening_p50',
    'cohort.completion_rate',
    'cohort.turnaround_p50',
    'cohort.turnaround_p90',
    'intake.completion_rate',
    'rfis.response_rate',
  ]);
});

test('another metric that the catalog describes with "so far" gets a warning but is not provisional', () => {
  const [warning, ...more] = provisionalWarnings(definition, describedAs('Share answered so far.'));
  expect(warning).toMatchObject({ path: ['sections', 0, 'metrics', 1] });
  expect(more).toEqual([]);
  expect(isProvisional({ id: 'profiles.approval_rate' })).toBe(false);
});

test('a metric without "so far" in its description gets no warning', () => {
  expect(provisionalWarnings(definition, describedAs('Share of the decided profiles, sofar or not.'))).toEqual([]);
});
