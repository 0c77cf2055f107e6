import type { OrgSettings } from '../schema/org-settings.ts';
import type { ReportFile } from '../schema/report-definition.ts';
import { reportTargets } from '../schema/targets.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import type { Diagnostic } from './diagnostic.ts';

/** Sections of exceptions whose other rows no reader gets, or in which nothing says which rows come first. Warnings. */
export function exceptionWarnings(
  source: SourceFile,
  { sections, outputs, targets }: ReportFile,
  org: Pick<OrgSettings, 'targets'>,
): Diagnostic[] {
  const hasRows = outputs.some(({ format }) => format === 'csv');
  const judged = new Set(
    reportTargets(org.targets, targets).flatMap(({ metric, target, per, where }) =>
      target === undefined || (per === undefined && where === undefined) ? [] : metric,
    ),
  );
  return sections.flatMap(({ layout, list, metrics = [], order = [], ordering }, index): Diagnostic[] => {
    if (layout !== 'exceptions') return [];
    const at = ['sections', index, 'layout'];
    const isOrdered = list === undefined ? order.length > 0 : ordering !== undefined;
    return [
      ...(hasRows
        ? []
        : [
            diagnosticAt(source, at, {
              expected: 'an output "csv", which has all rows: exceptions show the first ones',
              got: 'none',
              next: 'add { format: csv } to outputs',
            }),
          ]),
      ...(isOrdered || metrics.some((id) => judged.has(id))
        ? []
        : [
            diagnosticAt(source, at, {
              expected:
                list === undefined
                  ? 'a target with "per" or "where" for one of the metrics, or an "order": they say which rows come first'
                  : '"ordering", which says which rows come first',
              got: list === undefined ? 'neither' : 'none',
              next: list === undefined ? 'add a target to targets.yaml, or an order' : 'add it, e.g. ordering: -id',
            }),
          ]),
    ];
  });
}
