import { expect, test } from 'vitest';
import type { ReportRequest, ReportResponse } from '../../../src/contract/report.ts';
import { sliceResponse } from '../../../src/fetch/split/slice-response.ts';
import { CATALOG } from '../../support/reports.ts';

const REQUEST: ReportRequest = {
  metrics: ['profiles.created', 'profiles.approval_rate'],
  time: { from: '2026-10-05', to: '2026-10-25', granularity: 'week', timezone: 'UTC', compare: 'previous_period' },
};
const row = (bucket: string, group: string, created: number) => ({
  bucket,
  'profile.group': group,
  'profiles.created': created,
  'profiles.approval_rate': 0.5,
  compare: { 'profiles.created': 1, 'profiles.approval_rate': 1 },
  partial: false,
});

test('a bucket that the service omits for a value has counts of 0 and no comparison', () => {
  const rows: ReportResponse = {
    meta: {
      as_of: '2026-11-01T10:00:00Z',
      cached: false,
      timezone: 'UTC',
      range: { from: '2026-10-05', to: '2026-10-25' },
      granularity: 'week',
      row_count: 4,
      truncated: false,
      registry_version: 7,
    },
    columns: [],
    rows: [
      row('2026-10-05', 'retail', 3),
      row('2026-10-05', 'merchants', 9),
      row('2026-10-12', 'merchants', 9),
      row('2026-10-19', 'retail', 4),
    ],
  };
  const sliced = sliceResponse(REQUEST, { by: 'profile.group', value: 'retail', catalog: CATALOG }, { rows });
  expect(sliced.rows.map((each) => [each.bucket, each['profiles.created'], each['profiles.approval_rate']])).toEqual([
    ['2026-10-05', 3, 0.5],
    ['2026-10-12', 0, null],
    ['2026-10-19', 4, 0.5],
  ]);
  expect(sliced.rows[1]).toMatchObject({
    compare: { 'profiles.created': null, 'profiles.approval_rate': null },
    partial: false,
  });
});
