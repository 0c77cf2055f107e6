import type { ReportFile } from '../schema/report-definition.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import { type Diagnostic, describeValue } from './diagnostic.ts';
import { didYouMean } from './suggest.ts';

/**
 * Reports units and labels for metrics and dimensions that the report does not have. Codes are checked later, because
 * only the catalog knows them.
 */
export function displayDiagnostics(
  source: SourceFile,
  { sections, units = {}, labels = {} }: ReportFile,
): Diagnostic[] {
  const metrics = [...new Set(sections.flatMap((section) => section.metrics ?? []))];
  const shown = [
    ...new Set(
      sections.flatMap(({ dimensions = [], filters = [] }) => [
        ...dimensions,
        ...filters.map(({ dimension }) => dimension),
      ]),
    ),
  ];
  const unknown = (field: 'units' | 'labels', id: string, what: string, known: readonly string[]): Diagnostic =>
    diagnosticAt(source, [field, id], {
      expected: known.length === 0 ? `${what}; none is defined` : `${what} (${known.slice(0, 20).join(', ')})`,
      got: describeValue(id),
      next: didYouMean(id, known) ?? 'name one that the report has',
    });
  const hasList = sections.some(({ list }) => list !== undefined);
  const isKnown = (id: string): boolean => {
    if (metrics.includes(id) || shown.includes(id)) return true;
    // A list has fields of its own, and some are dimensions in the catalog. Ids of metrics and dimensions have a dot,
    // codes do not.
    return !id.includes('.') || (hasList && id.startsWith('profile.'));
  };
  return [
    ...Object.keys(units).flatMap((id) =>
      metrics.includes(id) ? [] : unknown('units', id, 'a metric of the report', metrics),
    ),
    ...Object.keys(labels).flatMap((id) =>
      isKnown(id) ? [] : unknown('labels', id, 'a metric or a dimension of the report', [...metrics, ...shown]),
    ),
  ];
}
