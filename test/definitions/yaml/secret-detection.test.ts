import { describe, expect, test } from 'vitest';
import { loadDefinitions, requireReport } from '../../../src/compose/built-in-kinds.ts';
import { formatDiagnostic } from '../../../src/definitions/diagnostics/diagnostic.ts';
import { looksLikeSecret } from '../../../src/definitions/yaml/secret-detection.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';

const KEY = 'acme01.9f8C3e7Ab2D1c4F6k0Zq';

/** Everything that a person or a log may see. */
async function shown(files: Readonly<Record<string, string>>) {
  const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT, ...files });
  const jobs = await loadDefinitions(folder);
  const refused = await Promise.resolve()
    .then(() => requireReport(jobs, 'acme/weekly'))
    .catch((error: unknown) => error);
  return {
    faults: jobs.diagnostics,
    text: [
      JSON.stringify(jobs.diagnostics),
      ...jobs.diagnostics.map(formatDiagnostic),
      JSON.stringify(refused),
      String(refused),
    ].join('\n'),
  };
}

describe('a secret in a file is an error and is never shown:', () => {
  test.each([
    ['as the API key', ORG.replace('{ env: ACME_KEY }', 'hunter2-hunter2'), 'hunter2-hunter2'],
    ['as a number', ORG.replace('{ env: ACME_KEY }', '8675309'), '8675309'],
    ['as the name of its variable', ORG.replace('ACME_KEY', KEY), KEY],
    ['as a variable name that cannot be one', ORG.replace('ACME_KEY', 'my-Secret!value'), 'my-Secret!value'],
    ['in a list', ORG.replace('{ env: ACME_KEY }', '[hunter2-hunter2]'), 'hunter2-hunter2'],
    [
      'behind an alias',
      `${ORG.replace('{ env: ACME_KEY }', '*k')}`.replace('name: Acme', 'name: &k hunter2-hunter2'),
      'hunter2-hunter2',
    ],
    [
      'as a mail server with its password',
      `${ORG}smtp: { url: "smtps://me:hunter2-hunter2@mail.acme.example" }\n`,
      'hunter2-hunter2',
    ],
    ['as an unknown field', `${ORG}password: hunter2-hunter2\n`, 'hunter2-hunter2'],
    [
      'as an unknown field of a mapping',
      `${ORG}smtp: { url: { env: SMTP }, smtp_password: hunter2-hunter2 }\n`,
      'hunter2-hunter2',
    ],
    ['under a tag', ORG.replace('{ env: ACME_KEY }', '!vault hunter2-hunter2'), 'hunter2-hunter2'],
    ['in YAML with invalid syntax', ORG.replace('{ env: ACME_KEY }', '"hunter2-hunter2'), 'hunter2-hunter2'],
    ['in YAML after a value', ORG.replace('{ env: ACME_KEY }', '"a" hunter2-hunter2'), 'hunter2-hunter2'],
  ])('%s', async (_, org, secret) => {
    expect(org).toContain(secret);
    const { faults, text } = await shown({ 'acme/org.yaml': org });
    expect(faults.length).toBeGreaterThan(0);
    expect(text).not.toContain(secret);
  });

  test.each([
    ['the API key', ORG.replace('{ env: ACME_KEY }', 'hunter2')],
    ['a number', ORG.replace('{ env: ACME_KEY }', '8675309')],
    ['a list', ORG.replace('{ env: ACME_KEY }', '[hunter2]')],
    ['an unknown field', `${ORG}password: hunter2\n`],
    ['an unknown field of a mapping', `${ORG}smtp: { url: { env: SMTP }, smtp_password: hunter2 }\n`],
    ['a mail server with its password', `${ORG}smtp: { url: "smtps://me:hunter2@mail.acme.example" }\n`],
  ])('%s, with exactly one error that calls it a secret', async (_, org) => {
    const { faults } = await shown({ 'acme/org.yaml': org });
    expect(faults.filter(({ message }) => message === 'a secret is never written into a file')).toHaveLength(1);
  });

  test.each([
    ['a title', REPORT.replace('title: Weekly', `title: ${KEY}`)],
    ['a value with another error', REPORT.replace('granularity: day', `granularity: ${KEY}`)],
    ['the name of a field', REPORT.replace('period:', `${KEY}: 1\nperiod:`)],
    ['a search', REPORT.replace('ordering: -id', `search: "Api-Key ${KEY}"`)],
    ['a path', REPORT.replace('path: out', 'path: "ftp://me:hunter2@files.acme.example/in"').concat(`# ${KEY}\n`)],
  ])('as %s of a report', async (_, report) => {
    const { faults, text } = await shown({ 'acme/weekly.yaml': report });
    expect(faults.some(({ message }) => message?.includes('secret'))).toBe(true);
    expect(text).not.toContain(KEY);
    expect(text).not.toContain('hunter2');
  });

  test('with an error at the value that says what to do', async () => {
    const { faults } = await shown({ 'acme/org.yaml': ORG.replace('{ env: ACME_KEY }', KEY) });
    expect(faults).toMatchObject([
      {
        line: 4,
        column: 10,
        expected: expect.stringContaining('{ env: NAME }'),
        next: expect.stringContaining('replace it'),
      },
    ]);
  });
});

test('words, IDs and addresses do not look like secrets', () => {
  for (const text of [
    'profiles.time_to_decision_p50',
    'blockchain_addresses.time_to_first_screening_p50',
    'transaction_alerts.time_to_decide_p90',
    'lead@acme.example',
    'mail.reports-2026.acme.example',
    'KPIs {{ period.label }}.xlsx',
    'out/{{ period.from }}/{{ file.name }}',
    'https://acme.example/reports?year=2026',
    '2026-11-01',
    'Basic facts of the month',
  ]) {
    expect([text, looksLikeSecret(text)]).toEqual([text, false]);
  }
});

test('keys of known formats look like secrets', () => {
  for (const text of [
    KEY,
    `Api-Key ${KEY}`,
    'Bearer abcdefgh12345678',
    'AKIAIOSFODNN7EXAMPLE',
    'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
    'sk_live_abcdefghijklmnop',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln',
    'redis://:hunter2@127.0.0.1:6379',
    '-----BEGIN OPENSSH PRIVATE KEY-----\nabc',
  ]) {
    expect([text, looksLikeSecret(text)]).toEqual([text, true]);
  }
});
