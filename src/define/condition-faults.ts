import { parseSendCondition } from './condition.ts';
import type { ReportFile } from './definition.ts';
import { type Diagnostic, describeValue } from './fault.ts';
import { didYouMean } from './nearest.ts';
import { diagnosticAt } from './parse.ts';
import type { SourceFile } from './source.ts';

/** Comparisons of figures that the report does not have: they could never be met. */
export function conditionDiagnostics(source: SourceFile, { sections, deliveries }: ReportFile): Diagnostic[] {
  return deliveries.flatMap(({ send_if }, index): Diagnostic[] => {
    const condition = send_if === undefined ? undefined : parseSendCondition(send_if);
    if (condition === undefined || !('kind' in condition) || condition.kind !== 'compare') return [];
    const fault = (word: string, got: string, known: readonly string[]): Diagnostic[] => [
      diagnosticAt(source, ['deliveries', index, 'send_if'], {
        expected: known.length === 0 ? `${word}; there is none` : `${word} (${known.slice(0, 20).join(', ')})`,
        got: describeValue(got),
        next: didYouMean(got, known) ?? 'name one that the report has',
      }),
    ];
    const { section, metric } = condition;
    const ids = sections.filter(({ metrics }) => metrics !== undefined).map(({ id }) => id);
    if (section !== undefined && !ids.includes(section)) return fault('a section with metrics', section, ids);
    const metrics = sections
      .filter(({ id }) => section === undefined || id === section)
      .flatMap((each) => each.metrics ?? []);
    return metrics.includes(metric) ? [] : fault('a metric of the report', metric, [...new Set(metrics)]);
  });
}
