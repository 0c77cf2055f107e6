import type { Dataset, Row, Table } from '../../../../src/fetch/dataset.ts';
import {
  bucketColumn,
  countColumn,
  dataset,
  durationColumn,
  groupColumn,
  ratioColumn,
  row,
  strangeColumn,
  table,
} from '../../../support/dataset.ts';

/** The number of data rows per section. */
export interface Size {
  readonly onboarding: number;
  readonly groups: number;
}

/** The same sizes as in test/recorded/workbooks/generators/design.py. */
export const SIZES = {
  '0': { onboarding: 0, groups: 0 },
  '1': { onboarding: 1, groups: 1 },
  '10': { onboarding: 10, groups: 10 },
  '7-2': { onboarding: 7, groups: 2 },
  '10000': { onboarding: 10_000, groups: 10_000 },
} as const satisfies Record<string, Size>;
export type SizeName = keyof typeof SIZES;

const DAY_MS = 86_400_000;
const DAY_0 = Date.parse('2026-01-01T00:00:00Z');

/** The same figures as in test/recorded/workbooks/generators/figures.py. */
const day = (index: number): Row =>
  row({
    bucket: new Date(DAY_0 + index * DAY_MS).toISOString().slice(0, 10),
    'profiles.created': ((index * 37 + 11) % 1000) + 1,
    'profiles.approval_rate': ((index * 13) % 100) / 100,
    'profiles.time_to_decision_p50': (((index * 7) % 50) + 1) * 600,
  });
const group = (index: number): Row =>
  row({
    'profile.group': `Group ${index + 1}`,
    'profiles.created': ((index * 53) % 500) + 1,
    'risk.exposure': ((index * 29) % 200) + 0.5,
  });

const rows = (of: (index: number) => Row, count: number) => Array.from({ length: count }, (_, index) => of(index));

/** The figures for the templates of test/recorded/workbooks. */
export function figuresOf({ onboarding, groups }: Size): Dataset {
  const tables: Table[] = [
    table({
      id: 'onboarding',
      title: 'Onboarding',
      granularity: 'day',
      columns: [bucketColumn, countColumn, ratioColumn, durationColumn],
      rows: rows(day, onboarding),
      totals: {
        values: { 'profiles.created': 1000 + onboarding, 'profiles.approval_rate': onboarding === 0 ? null : 0.25 },
      },
    }),
    table({
      id: 'groups',
      title: 'Groups',
      columns: [groupColumn, countColumn, strangeColumn],
      rows: rows(group, groups),
      totals: { values: { 'risk.exposure': groups + 0.5 } },
    }),
  ];
  return dataset(tables);
}
