import { DAY_MS } from '../../base/time.ts';
import { runPeriodsOf } from '../periods/period.ts';
import { nextReportSlots, timetableOf } from '../schedules/slots.ts';
import type { OrgSettings } from '../schema/org-settings.ts';
import type { Definition } from '../schema/report-definition.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import type { Diagnostic } from './diagnostic.ts';

/** How many slots are compared; for a report on demand only, how many days. */
const COMPARED_SLOTS = 12;

/**
 * Warns about sections that cover other days than in version 0.2.0, which counted their period from the slot. Empty if
 * the report sets `period_from`.
 */
export function sectionPeriodAdvice(
  source: SourceFile,
  report: Definition,
  settings: OrgSettings,
  now: number,
): readonly Diagnostic[] {
  if (report.period_from !== undefined || report.sections.every(({ period }) => period === undefined)) return [];
  const slots =
    report.schedule.length === 0
      ? Array.from({ length: COMPARED_SLOTS }, (_, day) => now + day * DAY_MS)
      : nextReportSlots(timetableOf(report, settings), now, COMPARED_SLOTS).map(({ at }) => at);
  const resolved = slots.map((at) => ({
    before: runPeriodsOf({ ...report, period_from: 'slot' }, settings, at).sectionPeriods ?? {},
    after: runPeriodsOf(report, settings, at).sectionPeriods ?? {},
  }));
  return report.sections.flatMap(({ id, period }, index): Diagnostic[] => {
    const days = resolved.flatMap(({ before: { [id]: before }, after: { [id]: after } }) =>
      before === undefined || after === undefined || (before.from === after.from && before.to === after.to)
        ? []
        : [{ before, after }],
    );
    const [first] = days;
    if (first === undefined) return [];
    const { before, after } = first;
    return [
      diagnosticAt(source, ['sections', index, 'period'], {
        expected: `days that end with the report's period, from which it counts now: ${after.from} to ${after.to}`,
        got: `${typeof period === 'string' ? period : ''}, which 0.2.0 counted from the slot: ${before.from} to ${before.to}`,
        next: 'write "period_from: report" if the new days are right, or "period_from: slot" to keep the old ones',
      }),
    ];
  });
}
