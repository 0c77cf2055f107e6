import { workerData } from 'node:worker_threads';
import { serveTasks } from '../base/task-thread.ts';
import { parseSettings } from '../definitions/load/parse-definitions.ts';
import { type DefinitionTask, handleTask } from '../services/definitions/definition-tasks.ts';
import { WARM } from '../services/definitions/definition-threads.ts';
import { BUILT_IN_READING } from './built-in-kinds.ts';

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

const handle = (task: DefinitionTask) => handleTask(BUILT_IN_READING, task);

/** Validates a report that uses all steps, several times, because code runs several times faster once it is warm. */
function warmUp(): void {
  const settings = parseSettings(ORG, 'org.yaml').value;
  for (let round = 0; round < 3; round += 1) {
    handle({
      kind: 'posted',
      text: REPORT,
      file: 'warm.yaml',
      name: { org: 'warm', report: 'warm' },
      of: settings && { text: ORG, settings: { ...settings, id: 'warm' } },
      catalog: undefined,
      now: 0,
    });
  }
}

if (workerData === WARM) warmUp();
serveTasks(handle);
