import { resolveReportPeriod } from '../periods/period.ts';
import { cronFields } from '../schedules/cron.ts';
import { buildTimetable, nextReportSlots } from '../schedules/slots.ts';
import { type DefinitionKinds, resolveTarget } from '../schema/kinds.ts';
import type { OrgSettings } from '../schema/org-settings.ts';
import type { Definition } from '../schema/report-definition.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import { type Diagnostic, describeValue } from './diagnostic.ts';

/** How many slots are compared. */
const COMPARED_SLOTS = 6;
/** Every month has at least this many business days, unless it has a long holiday. */
const SURE_BUSINESS_DAYS = 19;
/** The smallest number of days of each month. */
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];

/**
 * Warns about schedules of a valid report that nobody would expect, and about deliveries that fail from the second slot
 * on.
 */
export function scheduleAdvice(
  source: SourceFile,
  report: Definition,
  settings: OrgSettings,
  { targets }: Pick<DefinitionKinds, 'targets'>,
  now: number,
): readonly Diagnostic[] {
  if (report.schedule.length === 0) return [];
  return [
    ...cronAdvice(source, report),
    ...repeatedPeriods(source, report, settings, now),
    ...repeatedFiles(source, report, targets),
  ];
}

function cronAdvice(source: SourceFile, { schedule }: Definition): readonly Diagnostic[] {
  // A single schedule may be written without a list.
  const listed = source.tree?.fields?.get('schedule')?.value?.items !== undefined;
  return schedule.flatMap(({ cron, on }, index): Diagnostic[] => {
    const at = (field: 'cron' | 'on', parts: Pick<Diagnostic, 'expected' | 'got' | 'next'>) =>
      diagnosticAt(source, listed ? ['schedule', index, field] : ['schedule', field], parts);
    const [, , day = '*', month = '*', weekday = '*'] = cronFields(cron);
    const skipped = skippedDay(day, month);
    const business = Math.abs(on?.business_day ?? 0);
    return [
      ...(day === '*' || weekday === '*'
        ? []
        : [
            at('cron', {
              expected: 'a day of month or a day of week: with both it runs on every day that fits one of them',
              got: describeValue(cron),
              next: 'write * for one of them, or use two schedules if both are meant',
            }),
          ]),
      ...(skipped === undefined
        ? []
        : [
            at('cron', {
              expected: `a day that each of its months has: months without day ${skipped} are left out`,
              got: describeValue(cron),
              next: 'write L for the last day of the month, or a day up to 28',
            }),
          ]),
      ...(business <= SURE_BUSINESS_DAYS
        ? []
        : [
            at('on', {
              expected: `a business day that every month has: months with fewer than ${business} are left out`,
              got: `business_day: ${on?.business_day}`,
              next: 'count from the other end of the month',
            }),
          ]),
    ];
  });
}

/** A day that one of the months does not have every year. */
function skippedDay(day: string, month: string): number | undefined {
  const months = month.split(',').flatMap((each): number[] => {
    const [first, last = first] = each.split('-').map((name) => {
      const named = MONTHS.indexOf(name.toUpperCase());
      return named === -1 ? Number(name) : named + 1;
    });
    return first === undefined || last === undefined || Number.isNaN(first + last)
      ? MONTH_DAYS.map((_, index) => index + 1)
      : MONTH_DAYS.flatMap((_, index) => (index + 1 >= first && index + 1 <= last ? [index + 1] : []));
  });
  const fewest = Math.min(...months.map((each) => MONTH_DAYS[each - 1] ?? 31));
  return day
    .split(',')
    .map(Number)
    .find((each) => each > fewest);
}

/** Warns about an ended period that is the same in two slots: the second slot sends the same figures again. */
function repeatedPeriods(
  source: SourceFile,
  report: Definition,
  settings: OrgSettings,
  now: number,
): readonly Diagnostic[] {
  const { period } = report;
  if (typeof period === 'string' && /^current_|_to_date$/.test(period)) return [];
  const days = nextReportSlots(buildTimetable(report, settings), now, COMPARED_SLOTS).map(({ at }) => {
    const { from, to } = resolveReportPeriod(report, settings, at);
    return `${from} to ${to}`;
  });
  const repeated = days.find((each, index) => each === days[index - 1]);
  if (repeated === undefined) return [];
  return [
    diagnosticAt(source, ['period'], {
      expected: 'another period in each slot: a slot sends its figures also if an earlier slot has sent them',
      got: `${typeof period === 'string' ? period : 'fixed days'}, ${repeated} in two slots`,
      next: 'run it as often as the period changes, or choose a shorter period',
    }),
  ];
}

/** Warns about files that have the same name in all slots, at a destination that refuses a file with other content. */
function repeatedFiles(
  source: SourceFile,
  { deliveries, outputs }: Definition,
  targets: DefinitionKinds['targets'],
): readonly Diagnostic[] {
  const varies = (template: string) => /\{\{[^}]*\b(period|run|headlines?)\b/.test(template);
  const fixed = outputs.flatMap(({ name }) => (name === undefined || varies(name) ? [] : [name]));
  return deliveries.flatMap((delivery, index): Diagnostic[] => {
    const { target, spec } = resolveTarget(delivery, targets);
    const { template, overwrite } = target.describe(spec).writes ?? { template: '', overwrite: true };
    const named = template.includes('file.name');
    if (overwrite || varies(template) || (named && fixed.length === 0)) return [];
    return [
      diagnosticAt(source, ['deliveries', index], {
        expected:
          'a path or a file name with {{ period.label }}, or "overwrite: true": the second slot is refused otherwise',
        got: describeValue(named ? (fixed[0] ?? '') : template),
        next: 'add {{ period.label }} to the name or the path, or write "overwrite: true"',
      }),
    ];
  });
}
