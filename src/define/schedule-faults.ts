import { DAY_MS } from './day.ts';
import type { ReportFile } from './definition.ts';
import { formatDurationLiteral } from './duration.ts';
import type { Diagnostic } from './fault.ts';
import { HOLIDAY_YEARS } from './holidays.ts';
import type { OrgSettings } from './org.ts';
import { diagnosticAt } from './parse.ts';
import type { SourceFile } from './source.ts';

/** Schedules that need of the organization what its settings do not have. Nothing can be told without them. */
export function scheduleDiagnostics(
  source: SourceFile,
  { schedule }: ReportFile,
  org: OrgSettings | undefined,
): Diagnostic[] {
  if (org === undefined) return [];
  // One schedule need not be written as a list.
  const listed = source.tree?.fields?.get('schedule')?.value?.items !== undefined;
  return schedule.flatMap((one, index): Diagnostic[] => {
    const faults: Diagnostic[] = [];
    const fault = (
      field: 'on' | 'shift' | 'start' | 'catch_up_window',
      parts: Pick<Diagnostic, 'expected' | 'got' | 'next'>,
    ) => faults.push(diagnosticAt(source, listed ? ['schedule', index, field] : ['schedule', field], parts));
    const field = one.on === undefined ? (one.shift === undefined ? undefined : 'shift') : 'on';
    if (field !== undefined && org.calendar === undefined) {
      fault(field, {
        expected: `a calendar in the organization's org.yaml, which "${field}" asks for business days`,
        got: 'none',
        next: 'add one to org.yaml, e.g. calendar: { country: CH }',
      });
    }
    const { last } = HOLIDAY_YEARS;
    if (field !== undefined && org.calendar?.country !== undefined && one.start !== undefined) {
      if (Number(one.start.slice(0, 4)) > last) {
        fault('start', {
          expected: `a day of a year whose public holidays are known (up to ${last})`,
          got: one.start,
          next: `let it start earlier, or remove "${field}"`,
        });
      }
    }
    const kept = org.retention_days;
    if (kept !== undefined && one.catch_up_window * 1000 > kept * DAY_MS) {
      fault('catch_up_window', {
        expected: `at most the organization's retention_days (${kept}d), or a slot could be opened whose run is forgotten`,
        got: formatDurationLiteral(one.catch_up_window),
        next: 'shorten it, or raise retention_days in org.yaml',
      });
    }
    return faults;
  });
}
