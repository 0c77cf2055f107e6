import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { keyOf } from '../../support/fetch-harness.ts';
import { jobsFolder } from '../../support/jobs-folder.ts';
import { runCommand } from '../../support/run-command.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ windowMs: 1 });
});
afterAll(() => sandbox.close());

const ORG = `version: 1
org: current
api_key: { env: KEY }
timezone: Europe/Zurich
recipients: {}
`;
const open = async (...orgs: readonly string[]) => ({
  DOCKET_JOBS: await jobsFolder(Object.fromEntries(orgs.map((org) => [`${org}/org.yaml`, ORG]))),
  COMPLIANCE_API_URL: sandbox.url,
  KEY: keyOf(sandbox, 'acme'),
});
const json = async (args: readonly string[], env: Record<string, string>) => {
  const { code, stdout } = await runCommand(['catalog', ...args, '--json'], { env });
  return { code, document: JSON.parse(stdout) };
};
const ids = (document: { metrics: { id: string }[] }) => document.metrics.map(({ id }) => id);

test('catalog lists every metric with unit, history and dimensions, in one call', async () => {
  const { code, document } = await json([], await open('acme'));
  expect(code).toBe(0);
  expect(document).toMatchObject({ org: 'acme', lists: ['profiles'], limits: { max_dimensions: 2 } });
  expect(document.metrics).toContainEqual(
    expect.objectContaining({
      id: 'profiles.approval_rate',
      unit: 'ratio',
      current: false,
      history_from: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      granularities: ['day', 'week', 'month'],
      dimensions: expect.arrayContaining(['profile.risk']),
      additive: false,
    }),
  );
  expect(document.metrics).toContainEqual(
    expect.objectContaining({ id: 'alerts.open', current: true, history_from: null, granularities: [] }),
  );
  expect(document.dimensions).toContainEqual(
    expect.objectContaining({
      id: 'profile.risk',
      values: expect.arrayContaining([{ value: 'high', label: expect.any(String) }]),
    }),
  );
});

test('catalog finds metrics that contain every word, or one metric or dimension by its id', async () => {
  const env = await open('acme');
  const found = await json(['RFI', 'seconds'], env);
  expect(ids(found.document)).toEqual(['rfis.response_time_p50']);
  const metric = await json(['rfis.sent'], env);
  expect(ids(metric.document)).toEqual(['rfis.sent']);
  const dimension = await json(['profile.risk'], env);
  expect(dimension.document).toMatchObject({ metrics: [], dimensions: [{ id: 'profile.risk' }] });
  expect(await json(['zebra'], env)).toMatchObject({ code: 1, document: { metrics: [], dimensions: [], lists: [] } });
});

test('catalog needs --org when there are several organizations', async () => {
  const env = await open('acme', 'rival');
  expect(await json([], env)).toMatchObject({
    code: 2,
    document: { error: { code: 'usage.invalid', where: '--org' } },
  });
  expect(await json(['--org', 'rival', 'alerts.open'], env)).toMatchObject({ code: 0, document: { org: 'rival' } });
  const unknown = await json(['--org', 'rivla'], env);
  expect(unknown.document.error).toMatchObject({ code: 'definition.not_found', next: 'Did you mean "rival"?' });
});

test('catalog fits 80 columns without cutting an id', async () => {
  const env = await open('acme');
  const { document } = await json([], env);
  for (const args of [[], ['profile'], ['profiles.created'], ['profile.group'], ['zebra']]) {
    const { screen } = await runCommand(['catalog', ...args], { env, terminal: { columns: 80 } });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours of the terminal
    const lines = screen.replace(/\u001b\[[0-9;]*m/g, '').split(/\r?\n/);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    if (args.length > 0) continue;
    for (const id of ids(document)) expect(lines.some((line) => line.startsWith(`${id} `))).toBe(true);
  }
});
