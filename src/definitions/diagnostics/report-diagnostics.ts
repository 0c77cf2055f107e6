import { DAY_MS } from '../../base/time.ts';
import { HOLIDAY_YEARS } from '../schedules/holidays.ts';
import type { OrgSettings } from '../schema/org-settings.ts';
import type { ReportFile } from '../schema/report-definition.ts';
import { parseSendCondition } from '../schema/send-condition.ts';
import { reportTargets } from '../schema/targets.ts';
import { formatDurationLiteral } from '../schema/values/durations.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import { type Diagnostic, describeValue } from './diagnostic.ts';
import { didYouMean } from './suggest.ts';

/** Reports schedules that need settings which the organization lacks. Empty if its settings are unknown. */
export function scheduleDiagnostics(
  source: SourceFile,
  { schedule }: ReportFile,
  org: OrgSettings | undefined,
): Diagnostic[] {
  if (org === undefined) return [];
  // A single schedule may be written without a list.
  const listed = source.tree?.fields?.get('schedule')?.value?.items !== undefined;
  return schedule.flatMap((one, index): Diagnostic[] => {
    const diagnostics: Diagnostic[] = [];
    const add = (
      field: 'on' | 'shift' | 'start' | 'catch_up_window',
      parts: Pick<Diagnostic, 'expected' | 'got' | 'next'>,
    ) => diagnostics.push(diagnosticAt(source, listed ? ['schedule', index, field] : ['schedule', field], parts));
    const field = one.on === undefined ? (one.shift === undefined ? undefined : 'shift') : 'on';
    if (field !== undefined && org.calendar === undefined) {
      add(field, {
        expected: `a calendar in the organization's org.yaml, which "${field}" asks for business days`,
        got: 'none',
        next: 'add one to org.yaml, e.g. calendar: { country: CH }',
      });
    }
    const { last } = HOLIDAY_YEARS;
    if (field !== undefined && org.calendar?.country !== undefined && one.start !== undefined) {
      if (Number(one.start.slice(0, 4)) > last) {
        add('start', {
          expected: `a day of a year whose public holidays are known (up to ${last})`,
          got: one.start,
          next: `let it start earlier, or remove "${field}"`,
        });
      }
    }
    const retentionDays = org.retention_days;
    if (retentionDays !== undefined && one.catch_up_window * 1000 > retentionDays * DAY_MS) {
      add('catch_up_window', {
        expected: `at most the organization's retention_days (${retentionDays}d): a slot could run again after its record expired`,
        got: formatDurationLiteral(one.catch_up_window),
        next: 'shorten it, or raise retention_days in org.yaml',
      });
    }
    return diagnostics;
  });
}

/**
 * Reports conditions on sections, metrics or targets that the report does not have. Targets are only checked if the
 * settings are known.
 */
export function conditionDiagnostics(
  source: SourceFile,
  { sections, deliveries, targets }: ReportFile,
  org: Pick<OrgSettings, 'targets'> | undefined,
): Diagnostic[] {
  const judged = new Set(
    reportTargets(org?.targets, targets).flatMap(({ metric, target }) => (target === undefined ? [] : metric)),
  );
  const hasTarget = org === undefined || sections.some(({ metrics = [] }) => metrics.some((id) => judged.has(id)));
  return deliveries.flatMap(({ send_if }, index): Diagnostic[] => {
    const condition = send_if === undefined ? undefined : parseSendCondition(send_if);
    if (condition === undefined || !('kind' in condition)) return [];
    if (condition.kind === 'breached' || condition.kind === 'watch' || condition.kind === 'status_changed') {
      if (hasTarget) return [];
      return [
        diagnosticAt(source, ['deliveries', index, 'send_if'], {
          expected: 'a target for a metric of the report, which a status needs',
          got: 'none',
          next: 'add one to targets.yaml beside it, or under "targets"',
        }),
      ];
    }
    if (condition.kind !== 'compare') return [];
    const unknown = (description: string, got: string, known: readonly string[]): Diagnostic[] => [
      diagnosticAt(source, ['deliveries', index, 'send_if'], {
        expected:
          known.length === 0 ? `${description}; none is defined` : `${description} (${known.slice(0, 20).join(', ')})`,
        got: describeValue(got),
        next: didYouMean(got, known) ?? 'name one that the report has',
      }),
    ];
    const { section, metric } = condition;
    const ids = sections.filter(({ metrics }) => metrics !== undefined).map(({ id }) => id);
    if (section !== undefined && !ids.includes(section)) return unknown('a section with metrics', section, ids);
    const metrics = sections
      .filter(({ id }) => section === undefined || id === section)
      .flatMap((each) => each.metrics ?? []);
    return metrics.includes(metric) ? [] : unknown('a metric of the report', metric, [...new Set(metrics)]);
  });
}

/** Reports headlines for metrics that the report does not have, or that are named twice. */
export function headlineDiagnostics(source: SourceFile, { sections, headline = [] }: ReportFile): Diagnostic[] {
  const known = [...new Set(sections.flatMap(({ metrics = [] }) => metrics))];
  return headline.flatMap((metric, index): Diagnostic[] => {
    const again = headline.indexOf(metric) < index;
    if (known.includes(metric) && !again) return [];
    return [
      diagnosticAt(source, ['headline', index], {
        expected: again ? 'each metric once' : `a metric of the report (${known.slice(0, 20).join(', ')})`,
        got: describeValue(metric),
        next: again ? 'remove the second one' : (didYouMean(metric, known) ?? 'name one that the report has'),
      }),
    ];
  });
}

/**
 * Reports fields that do not fit the organization's weeks and years: weekly rows if its weeks begin on another day than
 * the service's (specification §2.7), and `to_date: fiscal_year` without a fiscal year. Empty if its settings are
 * unknown.
 */
export function fiscalCalendarDiagnostics(
  source: SourceFile,
  report: ReportFile,
  org: OrgSettings | undefined,
): Diagnostic[] {
  return [...fiscalYearDiagnostics(source, report, org), ...weekDiagnostics(source, report, org)];
}

function fiscalYearDiagnostics(
  source: SourceFile,
  { to_date, sections }: ReportFile,
  org: OrgSettings | undefined,
): Diagnostic[] {
  if (org === undefined || org.fiscal_year_start !== undefined) return [];
  const paths: (string | number)[][] = [
    ...(to_date === 'fiscal_year' ? [['to_date']] : []),
    ...sections.flatMap((section, index) =>
      section.to_date === 'fiscal_year' ? [['sections', index, 'to_date']] : [],
    ),
  ];
  return paths.map((path) =>
    diagnosticAt(source, path, {
      expected: "a fiscal_year_start in the organization's org.yaml, or year",
      got: '"fiscal_year"',
      next: 'add one to org.yaml, e.g. fiscal_year_start: { month: 4 }, or write year',
    }),
  );
}

function weekDiagnostics(source: SourceFile, { sections }: ReportFile, org: OrgSettings | undefined): Diagnostic[] {
  const start = org?.week_start ?? 'MON';
  if (start === 'MON') return [];
  return sections.flatMap(({ granularity }, index) =>
    granularity !== 'week'
      ? []
      : diagnosticAt(source, ['sections', index, 'granularity'], {
          expected: `day or month: the weeks of the service begin on Monday, those of the organization on ${start} (org.yaml: week_start)`,
          got: '"week"',
          next: 'write day, or remove week_start from org.yaml',
        }),
  );
}
