import { expect, test } from 'vitest';
import { groupFailures } from '../../../src/admin/page/components/deployment-problems.tsx';
import { runOf } from '../../support/page-data.ts';

const failed = (name: string, message: string, report = name) =>
  runOf(name, 'failed', { report, error: { code: 'api.refused', message } });
const groupsOf = (...runs: Parameters<typeof groupFailures>[0]) =>
  groupFailures(runs).map(({ runs: members, reports }) => [members.length, reports.length]);

test('failures with the same cause form one group, whatever ids, addresses, times and numbers they contain', () => {
  const text = (id: string, to: string, at: string) => `Section kpis: ${to} was refused at ${at}, request ${id}.`;
  const runs = [
    failed('one', text('2f6c0e4d0c3b4a5f', 'ana@acme.example', '2026-11-21T08:00:00Z')),
    failed('two', text('83b1c195-0c3b-4a5f', 'leo@globex.example', '2026-11-22T09:15:01.5Z')),
    failed('three', text('00000000', 'o@x.example', '2026-11-23'), 'two'),
  ];
  expect(groupsOf(...runs)).toEqual([[3, 2]]);
});

test('failures of different sections, metrics, codes or targets stay apart, the most frequent first', () => {
  const delivery = (name: string, target: string, recipient: string, detail: string) =>
    runOf(name, 'partly_delivered', {
      error: { code: 'deliver.target_refused', message: `Some deliveries failed: ${recipient}` },
      deliveries: [
        { target, recipient, state: 'refused', detail },
        { target, recipient: 'all@acme.example', state: 'sent', detail: null },
      ],
    });
  const runs = [
    failed('a', 'The service refuses the request of section kpis (alerts.created).'),
    failed('b', 'The service refuses the request of section kpis (alerts.closed).'),
    runOf('c', 'failed', { error: { code: 'api.timeout', message: 'x' } }),
    delivery('d', '0-email', 'ana@acme.example', '550 5.1.1 <ana@acme.example> unknown'),
    delivery('e', '0-email', 'leo@acme.example', '550 5.1.1 <leo@acme.example> unknown'),
    delivery('f', '1-webhook', 'https://hooks.acme.example', 'HTTP 410'),
  ];
  expect(groupsOf(...runs)).toEqual([[2, 1], ...Array.from({ length: 4 }, () => [1, 1])]);
});

test('several reports that lost the same metric form one group', () => {
  const lost = (report: string, line: number) =>
    runOf(report, 'failed', {
      report,
      error: {
        code: 'plan.invalid',
        message: `acme/${report} cannot be planned (1 error):\n/jobs/acme/${report}.yaml:${line}:36: expected a metric, got alerts.gone`,
      },
    });
  expect(groupsOf(lost('four', 5), lost('five', 12))).toEqual([[2, 2]]);
});

test('a group has the times of its first and its last failure', () => {
  const runs = [1, 2, 3].map((at) =>
    runOf(`r${at}`, 'failed', { finishedAt: at, error: { code: 'api.timeout', message: 'x' } }),
  );
  expect(groupFailures(runs)).toMatchObject([{ first: 1, last: 3 }]);
});
