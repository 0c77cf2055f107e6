import { expect, test } from 'vitest';
import { displayOf, templateDisplay } from '../../src/definitions/display.ts';

const organization = {
  units: { 'a.wait_p50': 'days', 'b.wait_p50': 'hours' },
  labels: { 'a.wait_p50': 'Waiting', AP: 'Cleared' },
} as const;

test('units and labels of an organization hold in its reports, which may say others for the same thing', () => {
  const report = { units: { 'a.wait_p90': 'minutes' }, labels: { AP: 'Approved' } } as const;
  expect(displayOf(report, organization)).toEqual({
    units: { 'b.wait_p50': 'hours', 'a.wait_p90': 'minutes' },
    labels: { 'a.wait_p50': 'Waiting', AP: 'Approved' },
  });
  expect(displayOf({}, {})).toEqual({});
});

test('units of an organization change no own workbook unless the report asks for it', () => {
  const report = { units: { 'a.wait_p90': 'minutes' } } as const;
  expect(templateDisplay({}, organization)).toEqual({ labels: organization.labels });
  expect(templateDisplay(report, organization).units).toEqual(report.units);
  expect(templateDisplay({ ...report, workbook_units: 'report' }, organization).units).toEqual({
    'b.wait_p50': 'hours',
    'a.wait_p90': 'minutes',
  });
});
