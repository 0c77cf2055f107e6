import { existsSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, longest first, so that none of them starts last and runs alone at the end. */
const LONGEST = [
  'test/e2e/outages.test.ts',
  'test/e2e/many-machines.test.ts',
  'test/e2e/page.test.ts',
  'test/e2e/incidents-service.test.ts',
  'test/e2e/ledger-lost.test.ts',
  'test/e2e/upgrade.test.ts',
  'test/e2e/deputy-in-0.2.0.test.ts',
  'test/e2e/image.test.ts',
  'test/e2e/topologies.test.ts',
  'test/e2e/deliver-sigkill.test.ts',
  'test/e2e/incidents-delivery.test.ts',
  'test/e2e/incidents-schedule.test.ts',
  'test/e2e/mail-height.test.ts',
  'test/e2e/pack.test.ts',
  'test/e2e/package.test.ts',
  'test/e2e/print.test.ts',
  'test/e2e/pdf.test.ts',
  'test/e2e/pack-readers.test.ts',
  'test/e2e/redis-killed.test.ts',
  'test/e2e/workbook-templates.test.ts',
  'test/run/pack-figures-property.integration.test.ts',
  'test/render/formats/xlsx/workbook.integration.test.ts',
  'test/compose/storage-outage.integration.test.ts',
  'test/cli/commands/runs/repeat.integration.test.ts',
  'test/queue/jobs/processes.integration.test.ts',
  'test/demo/demo.integration.test.ts',
  'test/run/run.integration.test.ts',
  'test/goldens.test.ts',
];

/** Vitest's order (by earlier durations or by size), with these files before the others of their project. */
export class LongestFirst extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    const gone = LONGEST.filter((path) => !existsSync(path));
    if (gone.length > 0) throw new Error(`Test files that are not there: ${gone.join(', ')} (${import.meta.filename})`);
    const place = ({ moduleId }: TestSpecification): number => {
      const index = LONGEST.indexOf(relative('.', moduleId).replaceAll(sep, '/'));
      return index === -1 ? LONGEST.length : index;
    };
    const sorted = await super.sort(specs);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) =>
      sorted.filter((spec) => spec.project === project).sort((one, other) => place(one) - place(other)),
    );
  }
}
