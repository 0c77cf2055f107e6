import { expect, test } from 'vitest';
import { jobsFolder, ORG } from '../../../support/jobs-folder.ts';
import { runCommand } from '../../../support/run-command.ts';

const report = (section: string, output: string) => `version: 1
title: Weeks
owner: ops@acme.example
period: last_13_weeks
outputs: [{ format: ${output} }]
sections:
  - id: weeks
    layout: exceptions
    ${section}
`;
const METRICS = 'metrics: [profiles.created]\n    granularity: week';
const TARGETS = `version: 1
targets:
  - { metric: profiles.created, per: week, better: higher, target: 100 }
`;

test.each<[string, string, string, string | undefined, (string | undefined)[]]>([
  ['weeks with a target', METRICS, 'csv', TARGETS, []],
  ['weeks in an order', `${METRICS}\n    order: [{ by: profiles.created }]`, 'csv', undefined, ['none']],
  ['weeks without a target', METRICS, 'csv', undefined, ['none']],
  ['a target of the whole', METRICS, 'csv', TARGETS.replace('per: week, ', ''), ['none']],
  ['a target of a month', METRICS, 'csv', TARGETS.replace('per: week', 'per: month'), ['none']],
  ['all rows in no file', METRICS, 'xlsx', TARGETS, ['none']],
  ['a list, whose rows have no targets', 'list: profiles\n    ordering: -id', 'csv', TARGETS, ['none']],
])('check warns of exceptions that show nothing: %s', async (_, section, output, targets, got) => {
  const folder = await jobsFolder({
    'acme/org.yaml': ORG,
    'acme/weeks.yaml': report(section, output),
    ...(targets === undefined ? {} : { 'acme/targets.yaml': targets }),
  });
  const env = { DOCKET_JOBS: folder };
  const { code, stdout } = await runCommand(['check', '--offline', '--json'], { env });
  const { faults, warnings } = JSON.parse(stdout);
  expect([code, faults]).toEqual([0, []]);
  expect(warnings.map((warning: { got: string }) => warning.got)).toEqual(got);
  for (const warning of warnings) expect(warning).toMatchObject({ line: 8, column: 13, next: expect.any(String) });
  const text = await runCommand(['check', '--offline'], { env });
  expect(text.stderr).not.toContain('DOCKET_REPORT_SCOPE');
});
