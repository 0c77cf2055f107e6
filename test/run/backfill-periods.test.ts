import { describe, expect, it } from 'vitest';
import type { PeriodSpec } from '../../src/definitions/schema/report-definition.ts';
import { backfillPeriods } from '../../src/run/backfill-periods.ts';
import { reportDefinition } from '../support/queue-harness.ts';

const NOW = Date.parse('2026-11-21T15:00:00Z');

describe('the periods of a backfill', () => {
  const { definition, settings } = reportDefinition();
  const of = (period: PeriodSpec, from: string, to: string, timezone = 'Europe/Zurich', now = NOW) =>
    backfillPeriods({ definition: { ...definition, period }, settings: { ...settings, timezone }, from, to, now });

  it('are the months of the range for a monthly report', () => {
    const months = of('previous_month', '2026-01-01', '2026-09-30');
    expect(months).toHaveLength(9);
    expect(months[0]).toEqual({ from: '2026-01-01', to: '2026-01-31' });
    expect(months[8]).toEqual({ from: '2026-09-01', to: '2026-09-30' });
  });

  it.each(['Pacific/Kiritimati', 'Pacific/Niue', 'Australia/Lord_Howe', 'UTC'])(
    'cover each day exactly once in %s, across both changes of summer time',
    (timezone) => {
      const days = of('previous_day', '2026-01-01', '2026-10-31', timezone);
      expect(days).toHaveLength(304);
      expect(new Set(days.map(({ from }) => from)).size).toBe(304);
      expect(days.every(({ from, to }) => from === to)).toBe(true);
    },
  );

  it('begin and end within the requested days', () => {
    expect(of('previous_week', '2026-01-01', '2026-01-18')).toEqual([
      { from: '2026-01-05', to: '2026-01-11' },
      { from: '2026-01-12', to: '2026-01-18' },
    ]);
    expect(of('quarter_to_date', '2025-01-01', '2025-12-31')).toHaveLength(4);
    expect(of('current_year', '2024-01-01', '2025-12-31')).toEqual([
      { from: '2024-01-01', to: '2024-12-31' },
      { from: '2025-01-01', to: '2025-12-31' },
    ]);
  });

  it.each(['last_30_days', 'last_4_weeks', { from: '2026-01-01', to: '2026-01-31' }] as PeriodSpec[])(
    'rejects %j, whose periods are not consecutive',
    (period) => {
      expect(() => of(period, '2026-01-01', '2026-09-30')).toThrow(
        expect.objectContaining({ code: 'usage.invalid', where: 'acme/weekly' }),
      );
    },
  );

  it('rejects a period that has not ended', () => {
    expect(() => of('previous_month', '2026-09-01', '2026-11-30')).toThrow(
      expect.objectContaining({ code: 'usage.invalid', where: '--to', expected: 'a day before 2026-11-01' }),
    );
    expect(of('previous_month', '2026-10-01', '2026-10-31')).toHaveLength(1);
    // In Honolulu the month has not ended yet; in Kiritimati it already has.
    const morning = Date.parse('2026-12-01T05:00:00Z');
    expect(() => of('previous_month', '2026-11-01', '2026-11-30', 'Pacific/Honolulu', morning)).toThrow(
      expect.objectContaining({ code: 'usage.invalid', where: '--to' }),
    );
    const noon = Date.parse('2026-11-30T12:00:00Z');
    expect(of('previous_month', '2026-11-01', '2026-11-30', 'Pacific/Kiritimati', noon)).toHaveLength(1);
  });

  it('rejects a range in which no period begins, and one with too many', () => {
    expect(() => of('previous_month', '2026-01-02', '2026-01-31')).toThrow(
      expect.objectContaining({ code: 'usage.invalid', expected: 'days in which a month begins' }),
    );
    expect(() => of('previous_month', '2026-02-01', '2026-01-31')).toThrow(
      expect.objectContaining({ code: 'usage.invalid', got: '2026-02-01 to 2026-01-31' }),
    );
    expect(() => of('previous_day', '2000-01-01', '2020-12-31')).toThrow(
      expect.objectContaining({ code: 'usage.invalid', expected: 'at most ten years of days' }),
    );
  });
});
