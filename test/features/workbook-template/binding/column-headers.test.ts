import { describe, expect, it } from 'vitest';
import type { OutlineColumn, SectionOutline } from '../../../../src/features/workbook-template/binding/bindings.ts';
import { headerReader } from '../../../../src/features/workbook-template/binding/column-headers.ts';

const metric = (name: string, label: string, unit: string, more: Partial<OutlineColumn> = {}): OutlineColumn => ({
  name,
  kind: 'metric',
  labels: [label],
  unit,
  ...more,
});

const SECTION: SectionOutline = {
  id: 'kpis',
  title: 'KPIs',
  granularity: 'week',
  comparisons: ['previous_year', 'previous_period'],
  toDate: 'year',
  totals: true,
  text: false,
  list: false,
  columns: [
    { name: 'bucket', kind: 'time', labels: ['Bucket'], unit: null },
    { name: 'profile.risk', kind: 'dimension', labels: ['Risk'], unit: null },
    metric('profiles.created', 'Profiles created', 'count'),
    metric('approval_rate', 'Approval rate', 'ratio'),
    metric('decision_p50', 'Time to decision (median)', 'seconds', { shownIn: 'hours' }),
    metric('exposure', 'Exposure', 'chf', { formerly: 'old_exposure' }),
    metric('other_rate', 'Same', 'ratio'),
    metric('third_rate', 'same ', 'ratio'),
    // The id equals the change of another metric.
    metric('exposure.change', 'Movement', 'chf'),
  ],
};
const read = headerReader(SECTION);
const value = { figure: 'value' } as const;

describe('headers of a bound table', () => {
  it.each([
    ['bucket', { column: 'bucket' }],
    ['Week starting', { column: 'bucket' }],
    ['Woche', { column: 'bucket' }],
    ['Kalenderwoche', { column: 'bucket', as: 'week' }],
    [' RISK ', { column: 'profile.risk' }],
    ['profiles.created', { column: 'profiles.created', figure: value }],
    ['Profiles\n created', { column: 'profiles.created', figure: value }],
    [
      'Profiles created.previous',
      { column: 'profiles.created', figure: { figure: 'previous', comparison: 'previous_year' } },
    ],
    [
      'profiles.created.change_previous_period',
      { column: 'profiles.created', figure: { figure: 'change', comparison: 'previous_period' } },
    ],
    [
      'Profiles created, change (previous period) (%)',
      { column: 'profiles.created', figure: { figure: 'change', comparison: 'previous_period' } },
    ],
    [
      'Approval rate (%), Vorjahr',
      { column: 'approval_rate', figure: { figure: 'previous', comparison: 'previous_year' } },
    ],
    ['Approval rate (ratio 0–1)', { column: 'approval_rate', figure: value }],
    ['Approval rate: Status', { column: 'approval_rate', figure: { figure: 'status' } }],
    ['approval_rate.target', { column: 'approval_rate', figure: { figure: 'target' } }],
    ['Time to decision (median)', { column: 'decision_p50', figure: value, unit: 'hours' }],
    [
      'Time to decision (median) (Tage), year to date',
      { column: 'decision_p50', figure: { figure: 'to_date' }, unit: 'days' },
    ],
    ['decision_p50 (s)', { column: 'decision_p50', figure: value }],
    ['old_exposure (CHF)', { column: 'exposure', figure: value }],
    ['exposure.change', { column: 'exposure.change', figure: value }],
    ['Same [third_rate] (%)', { column: 'third_rate', figure: value }],
  ])('bind %j', (header, target) => {
    expect(read(header)).toEqual({ kind: 'bound', target });
  });

  it.each([
    ['same', { kind: 'ambiguous', ids: ['other_rate', 'third_rate'] }],
    ['Profiles created (hours)', { kind: 'unit', id: 'profiles.created', unit: 'hours' }],
    ['decision_p50.status (h)', { kind: 'unit', id: 'decision_p50', unit: 'h' }],
    ['Profils created', { kind: 'unknown', id: false, closest: 'Profiles created' }],
    ['profiles.creatd', { kind: 'unknown', id: true, closest: 'profiles.created' }],
    ['Notes of the board', { kind: 'unknown', id: false }],
  ])('do not bind %j', (header, reading) => {
    expect(read(header)).toEqual(reading);
  });

  it('name a figure that the section does not have', () => {
    const plain = headerReader({ ...SECTION, comparisons: ['previous_period'], toDate: null });
    expect(plain('Approval rate.previous_year')).toEqual({
      kind: 'figure',
      id: 'approval_rate',
      suffix: '.previous_year',
    });
    expect(plain('profiles.created.to_date')).toMatchObject({ kind: 'figure', suffix: '.to_date' });
    expect(plain('Profiles created, change (%)')).toMatchObject({ kind: 'bound' });
  });
});
