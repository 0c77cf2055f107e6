import type { ReportFile } from './definition.ts';
import type { Fault } from './fault.ts';
import type { OrgSettings } from './org.ts';
import { faultAt } from './parse.ts';
import type { Source } from './source.ts';

/** Weekly rows of an organization whose weeks are not the service's: they could not be its weeks (specification §2.7). */
export function reckoningFaults(source: Source, { sections }: ReportFile, org: OrgSettings | undefined): Fault[] {
  const start = org?.week_start ?? 'MON';
  if (start === 'MON') return [];
  return sections.flatMap(({ granularity }, index) =>
    granularity !== 'week'
      ? []
      : faultAt(source, ['sections', index, 'granularity'], {
          expected: `day or month: the weeks of the service begin on Monday, those of the organization on ${start} (org.yaml: week_start)`,
          got: '"week"',
          next: 'write day, or remove week_start from org.yaml',
        }),
  );
}
