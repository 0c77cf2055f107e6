import { serveTasks } from '../../base/task-thread.ts';
import { parseSettings } from '../../definitions/load/parse-definitions.ts';
import { type DefinitionTask, handleTask } from './definition-tasks.ts';

const ORG = `version: 1
name: Warm
org: 1
api_key: { env: WARM_KEY }
timezone: UTC
recipients: { domains: [warm.example] }
`;

const VALUES = Array.from({ length: 20 }, (_, index) => `value${index}`);
const section = (_: unknown, index: number): string => `  - id: s${index}
    metrics: [profiles.created]
    dimensions: [profile.type]
    filters:
      - { dimension: profile.risk, op: in, values: [${VALUES.join(', ')}] }
      - dimension: profile.type
        op: in
        values:
${VALUES.map((value) => `          - ${value}\n`).join('')}`;

const REPORT = `version: 1
title: Warm
owner: ops@warm.example
schedule: { cron: "0 8 * * MON", timezone: UTC }
period: previous_week
sections:
${Array.from({ length: 20 }, section).join('')}outputs: [{ format: csv, name: "{{ period.label }}.csv" }]
deliveries:
  - email: { to: [lead@warm.example], attach: [csv] }
`;

const settings = parseSettings(ORG, 'org.yaml').value;

/** A report that exercises all steps of a validation. Its result is ignored. */
export const WARM_UP_TASK: DefinitionTask = {
  kind: 'posted',
  text: REPORT,
  file: 'warm.yaml',
  name: { org: 'warm', report: 'warm' },
  of: settings && { text: ORG, settings: { ...settings, id: 'warm' } },
  catalog: undefined,
  now: 0,
};

// Warm code is several times faster, and the first text has the same deadline as the others.
for (let round = 0; round < 3; round += 1) handleTask(WARM_UP_TASK);
serveTasks(handleTask);
