import type { ReportFile } from './definition.ts';
import type { Diagnostic } from './fault.ts';
import type { OrgSettings } from './org.ts';
import { diagnosticAt } from './parse.ts';
import type { SourceFile } from './source.ts';

/** Weekly rows of an organization whose weeks are not the service's: they could not be its weeks (specification §2.7). */
export function fiscalCalendarDiagnostics(
  source: SourceFile,
  { sections }: ReportFile,
  org: OrgSettings | undefined,
): Diagnostic[] {
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
