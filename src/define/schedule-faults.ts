import { DAY_MS } from './day.ts';
import type { ReportFile } from './definition.ts';
import { inUnits } from './duration.ts';
import type { Fault } from './fault.ts';
import { HOLIDAY_YEARS } from './holidays.ts';
import type { OrgSettings } from './org.ts';
import { faultAt } from './parse.ts';
import type { Source } from './source.ts';

/** Schedules that need of the organization what its settings do not have. Nothing can be told without them. */
export function scheduleFaults(source: Source, { schedule }: ReportFile, org: OrgSettings | undefined): Fault[] {
  if (org === undefined) return [];
  // One schedule need not be written as a list.
  const listed = source.tree?.fields?.get('schedule')?.value?.items !== undefined;
  return schedule.flatMap((one, index): Fault[] => {
    const faults: Fault[] = [];
    const fault = (
      field: 'on' | 'shift' | 'start' | 'catch_up_window',
      parts: Pick<Fault, 'expected' | 'got' | 'next'>,
    ) => faults.push(faultAt(source, listed ? ['schedule', index, field] : ['schedule', field], parts));
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
        got: inUnits(one.catch_up_window),
        next: 'shorten it, or raise retention_days in org.yaml',
      });
    }
    return faults;
  });
}
