import type { OrgSettings } from '../schema/org-settings.ts';
import type { ReportFile } from '../schema/report-definition.ts';
import { reportTargets, whereOf } from '../schema/targets.ts';
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
          whereOf(target)?.dimension === dimension ||
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
