import { readCondition } from './condition.ts';
import type { ReportFile } from './definition.ts';
import { type Fault, show } from './fault.ts';
import { didYouMean } from './nearest.ts';
import { faultAt } from './parse.ts';
import type { Source } from './source.ts';

/** Comparisons of figures that the report does not have: they could never be met. */
export function conditionFaults(source: Source, { sections, deliveries }: ReportFile): Fault[] {
  return deliveries.flatMap(({ send_if }, index): Fault[] => {
    const condition = send_if === undefined ? undefined : readCondition(send_if);
    if (condition === undefined || !('kind' in condition) || condition.kind !== 'compare') return [];
    const fault = (word: string, got: string, known: readonly string[]): Fault[] => [
      faultAt(source, ['deliveries', index, 'send_if'], {
        expected: known.length === 0 ? `${word}; there is none` : `${word} (${known.slice(0, 20).join(', ')})`,
        got: show(got),
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
