import { describe, expect, test } from 'vitest';
import {
  evaluateAgreement,
  evaluateCircuits,
  evaluateFailures,
  evaluateFaults,
  evaluateFolders,
  evaluateLoss,
} from '../../../src/compose/probes/processes.ts';
import type { ProcessReport } from '../../../src/queue/process-reports.ts';
import { toProblems } from '../../../src/services/deployment/probe.ts';

const NOW = Date.parse('2026-11-21T13:12:00Z');
const HOUR = 3_600_000;
const report = (host: string, change: Partial<ProcessReport> = {}): ProcessReport => ({
  self: `${host}:1:a`,
  host,
  roles: ['worker'],
  version: '0.3.0',
  started: NOW - HOUR,
  at: NOW,
  definitions: { digest: 'aaaa', reports: 10, unreadable: null },
  failing: [],
  ...change,
});
const withReports = (reports: number, unreadable: ProcessReport['definitions']['unreadable'] = null) =>
  report('a', { definitions: { digest: 'aaaa', reports, unreadable } });
const codes = (findings: readonly Parameters<typeof toProblems>[0][]) =>
  findings.flatMap(toProblems).map(({ code }) => code);

describe('the reports of processes', () => {
  test('give one problem for a check that fails in several processes, since the first failure', () => {
    const failing = (since: number) => [{ name: 'archive', detail: 'The archive cannot be written: full.', since }];
    const found = evaluateFailures([
      report('a', { failing: failing(7) }),
      report('b', { failing: failing(5) }),
      report('c'),
    ]);
    expect(found).toMatchObject([{ state: 'fail', problem: 'archive.unusable', since: 5, orgs: [] }]);
    expect(found[0]?.affects).toContain('a (worker), b (worker)');
  });

  test('give a problem with its own remedy for an unknown check', () => {
    const failing = [
      { name: 'API', detail: 'api.example cannot be reached', since: 1, remedy: 'Allow the connection.' },
      { name: 'Certificate', detail: 'expires', since: 1, problem: 'certificate.expires' },
    ];
    expect(evaluateFailures([report('a', { failing })])).toMatchObject([
      { problem: 'check.failed', remedy: 'Allow the connection.' },
      { problem: 'certificate.expires' },
    ]);
  });

  test.each<[string[], ProcessReport[]]>([
    [[], [report('a'), report('b')]],
    [
      ['definitions.differ'],
      [report('a'), withReports(4), report('b', { definitions: { digest: 'b', reports: 1, unreadable: null } })],
    ],
    [['versions.differ'], [report('a'), report('b', { version: '0.2.0' })]],
    // A rolling update is no problem in its first minutes.
    [[], [report('a'), report('b', { version: '0.2.0', started: NOW - 60_000 })]],
  ])('give problems %j (%#)', (expected, reports) => expect(codes(evaluateAgreement(reports, NOW))).toEqual(expected));

  test.each<[string[], number, number | undefined]>([
    [[], 10, 10],
    [[], 10, undefined],
    [[], 0, undefined],
    [['definitions.lost'], 0, 1],
    [['definitions.lost'], 0, 10],
    [['definitions.lost'], 5, 10],
    [[], 6, 10],
    // With few reports, losing half of them is an ordinary change.
    [[], 2, 5],
    [['definitions.lost'], 2, 6],
  ])('give the problems %j if a process has %i of formerly %s reports', (expected, now, most) => {
    const peak = most === undefined ? undefined : { reports: most, at: NOW - HOUR };
    expect(codes(evaluateFolders([withReports(now)], peak))).toEqual(expected);
  });

  test('give a problem with the reason for an emptied folder whose reports the process keeps', () => {
    const [found] = evaluateFolders([withReports(10, { why: 'it is empty', since: 5 })], { reports: 10, at: NOW });
    expect(found).toMatchObject({ problem: 'definitions.unreadable', since: 5 });
  });
});

test('a loss of data is a problem for three days', () => {
  const loss = (age: number, restored = true) => evaluateLoss({ id: 'x', since: NOW - age, restored }, NOW)?.problem;
  expect([loss(HOUR), loss(71 * HOUR), loss(73 * HOUR), loss(HOUR, false)]).toEqual([
    'redis.lost',
    'redis.lost',
    undefined,
    undefined,
  ]);
  expect(evaluateLoss(undefined, NOW)).toBeUndefined();
});

test('errors in definitions are a problem for each organization, with the names of the files', () => {
  const fault = (file: string) => ({ file: `jobs/${file}`, line: 1, column: 1, expected: 'x', got: 'y', next: 'z' });
  const diagnostics = ['acme/a.yaml', 'acme/a.yaml', 'acme/b.yaml', 'globex/org.yaml'].map(fault);
  const found = evaluateFaults({ folder: 'jobs', diagnostics: diagnostics as never });
  expect(found.map(({ orgs, problem }) => [orgs, problem])).toEqual([
    [['acme'], 'definitions.faults'],
    [['globex'], 'definitions.faults'],
  ]);
  expect(found[0]?.detail).toContain('3 errors in acme/a.yaml, acme/b.yaml');
});

test('each open circuit is a problem', () => {
  expect(evaluateCircuits([])).toEqual([]);
  expect(evaluateCircuits([{ service: 'mail mx.example:25', since: 5, why: 'no answer' }])).toMatchObject([
    { problem: 'circuit.open', since: 5, state: 'fail' },
  ]);
});
