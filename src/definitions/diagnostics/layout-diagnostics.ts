import { DAY_MS } from '../../base/time.ts';
import { resolveRunPeriods } from '../periods/period.ts';
import { buildTimetable, nextReportSlots } from '../schedules/slots.ts';
import type { OrgSettings } from '../schema/org-settings.ts';
import type { Definition, ReportFile } from '../schema/report-definition.ts';
import { parseWhere, reportTargets } from '../schema/targets.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import type { Diagnostic } from './diagnostic.ts';

/** Warns about sections of exceptions whose other rows no reader gets, or whose rows no target judges. */
export function exceptionWarnings(
  source: SourceFile,
  { sections, outputs, targets }: ReportFile,
  org: Pick<OrgSettings, 'targets'>,
): Diagnostic[] {
  const hasRows = outputs.some(({ format }) => ['csv', 'jsonl', 'parquet'].includes(format));
  const held = reportTargets(org.targets, targets).filter(({ target }) => target !== undefined);
  return sections.flatMap(({ layout, metrics = [], dimensions = [], granularity }, index): Diagnostic[] => {
    if (layout !== 'exceptions') return [];
    const at = ['sections', index, 'layout'];
    const [dimension] = dimensions.length === 1 ? dimensions : [];
    const judges = (target: (typeof held)[number]): boolean => {
      const ofRows = granularity === undefined || target.per === granularity;
      return (
        metrics.includes(target.metric) &&
        ofRows &&
        (dimensions.length === 0 ||
          parseWhere(target)?.dimension === dimension ||
          (dimension !== undefined && target.rows?.includes(dimension) === true))
      );
    };
    return [
      ...(hasRows
        ? []
        : [
            diagnosticAt(source, at, {
              expected: 'an output "csv", which has all rows: exceptions show those on watch or breached',
              got: 'none',
              next: 'add { format: csv } to outputs',
            }),
          ]),
      ...(held.some(judges)
        ? []
        : [
            diagnosticAt(source, at, {
              expected: 'a target that judges its rows, with "where" for groups or "per" for times: it lists no others',
              got: 'none',
              next: 'add one to targets.yaml, or show the first rows instead: no layout, and "order" and "limit"',
            }),
          ]),
    ];
  });
}

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
      : nextReportSlots(buildTimetable(report, settings), now, COMPARED_SLOTS).map(({ at }) => at);
  const resolved = slots.map((at) => ({
    before: resolveRunPeriods({ ...report, period_from: 'slot' }, settings, at).sectionPeriods ?? {},
    after: resolveRunPeriods(report, settings, at).sectionPeriods ?? {},
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
