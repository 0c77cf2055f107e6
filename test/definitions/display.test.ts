import { expect, test } from 'vitest';
import { mergeDisplay, templateDisplay } from '../../src/definitions/display.ts';

const organization = {
  units: { 'a.wait_p50': 'days', 'b.wait_p50': 'hours' },
  labels: { 'a.wait_p50': 'Waiting', AP: 'Cleared' },
} as const;

test('units and labels of an organization apply to its reports, which can override them', () => {
  const report = { units: { 'a.wait_p90': 'minutes' }, labels: { AP: 'Approved' } } as const;
  expect(mergeDisplay(report, organization)).toEqual({
    units: { 'b.wait_p50': 'hours', 'a.wait_p90': 'minutes' },
    labels: { 'a.wait_p50': 'Waiting', AP: 'Approved' },
  });
  expect(mergeDisplay({}, {})).toEqual({});
});

test('units of an organization apply to a workbook template only if the report sets workbook_units', () => {
  const report = { units: { 'a.wait_p90': 'minutes' } } as const;
  expect(templateDisplay({}, organization)).toEqual({ labels: organization.labels });
  expect(templateDisplay(report, organization).units).toEqual(report.units);
  expect(templateDisplay({ ...report, workbook_units: 'report' }, organization).units).toEqual({
    'b.wait_p50': 'hours',
    'a.wait_p90': 'minutes',
  });
});
