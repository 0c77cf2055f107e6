import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BUILT_IN_KINDS, loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { type AllowListPolicy, checkAllowLists } from '../../../src/definitions/allow-lists/check-allow-lists.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';

const POLICY: AllowListPolicy = {
  secrets: { allowedFolders: [], deploymentRefs: [], archiveRefs: [], deploymentFiles: [], enforce: false },
  destinations: { required: false, reservedFolders: [] },
  workingDirectory: '/srv/docket',
};
const deliveries = (text: string): string => REPORT.replace(/deliveries:[\s\S]*/, `deliveries:\n${text}\n`);
const SFTP = (host: string, password = 'ACME_SFTP') =>
  `  - sftp: { host: "${host}", user: acme, password: { env: ${password} }, host_key: "SHA256:${'A'.repeat(43)}", path: in }`;

async function found(report: string, { org = ORG, policy = POLICY } = {}) {
  const globex = ORG.replace('ACME_KEY', 'GLOBEX_KEY');
  const folder = await jobsFolder({ 'acme/org.yaml': org, 'acme/weekly.yaml': report, 'globex/org.yaml': globex });
  const jobs = await loadDefinitions(folder);
  expect(jobs.diagnostics).toEqual([]);
  const { errors, warnings } = await checkAllowLists(jobs, policy, BUILT_IN_KINDS);
  const lines = (of: typeof errors) =>
    of.map(({ file, line, message, got }) => {
      expect(file).toBe(join(folder, 'acme/weekly.yaml'));
      return [report.split('\n')[line - 1]?.trim().slice(0, 12), message, got];
    });
  return { faults: lines(errors), warnings: lines(warnings) };
}

test.each(['GLOBEX_KEY', 'SMTP_URL'])(
  'a reference to %s is a warning with its line, and an error if allow-lists are enforced',
  async (env) => {
    const report = deliveries(SFTP('sftp.bank.example', env));
    const expected = [['- sftp: { ho', expect.any(String), env]];
    expect(await found(report)).toEqual({ faults: [], warnings: expected });
    const policy = { ...POLICY, secrets: { ...POLICY.secrets, enforce: true } };
    expect(await found(report, { policy })).toEqual({ faults: expected, warnings: [] });
  },
);

test('the password of a workbook is checked as well', async () => {
  const report = REPORT.replace('{ format: xlsx, name', '{ format: xlsx, password: { env: GLOBEX_KEY }, name');
  expect(await found(report)).toEqual({ faults: [], warnings: [['- { format: ', expect.any(String), 'GLOBEX_KEY']] });
});

test.each(['169.254.169.254', '0xa9fea9fe', 'metadata.google.internal.'])(
  'a metadata service as the host is an error: %s',
  async (host) => {
    const org = `${ORG}allow_private: true\n`;
    expect((await found(deliveries(SFTP(host.replace(/\.$/, ''))), { org })).faults).toHaveLength(1);
    const webhook = `  - webhook: { url: "https://${host}/", secret: { env: HOOK } }`;
    expect((await found(deliveries(webhook), { org })).faults).toHaveLength(1);
    const s3 = `  - s3: { bucket: reports, endpoint: "https://${host}/" }`;
    expect((await found(deliveries(s3), { org })).faults).toHaveLength(1);
  },
);

test('a private host is a warning unless allow_private is set', async () => {
  const report = deliveries(SFTP('10.0.0.7'));
  expect((await found(report)).warnings).toHaveLength(1);
  expect(await found(report, { org: `${ORG}allow_private: true\n` })).toEqual({ faults: [], warnings: [] });
});

const LISTED = `${ORG}destinations: { hosts: ["*.bank.example"], buckets: [reports], folders: [out] }\n`;
test.each([
  ['a host below a listed domain', SFTP('SFTP.Bank.Example'), 0],
  ['the domain itself', SFTP('bank.example'), 1],
  ['a host that only ends like it', SFTP('evilbank.example'), 1],
  ['a bucket', '  - s3: { bucket: reports }', 0],
  ['another bucket', '  - s3: { bucket: others }', 1],
  [
    'a listed bucket at an endpoint that is not listed',
    '  - s3: { bucket: reports, endpoint: "https://s3.evil.example" }',
    1,
  ],
  ['a folder below a listed one', '  - directory: { path: "out/{{ period.label }}" }', 0],
  ['another folder', '  - directory: { path: "/srv/other" }', 1],
  ['a webhook of a listed host', '  - webhook: { url: "https://hooks.bank.example/x", secret: { env: HOOK } }', 0],
  ['a webhook of another host', '  - webhook: { url: "https://hooks.evil.example/x", secret: { env: HOOK } }', 1],
])('destinations are checked for %s', async (_, delivery, faults) => {
  expect((await found(deliveries(delivery), { org: LISTED })).faults).toHaveLength(faults);
});

test('if destinations are required, all deliveries but e-mail need one', async () => {
  const policy = { ...POLICY, destinations: { required: true, reservedFolders: [] } };
  expect((await found(REPORT, { policy })).faults).toEqual([['- directory:', expect.any(String), expect.any(String)]]);
});

test("a folder reserved for Docket's own files is an error", async () => {
  const policy = {
    ...POLICY,
    destinations: { required: false, reservedFolders: [{ path: '/srv/docket/jobs', includesSubfolders: true }] },
  };
  const report = deliveries('  - directory: { path: "jobs/{{ org }}" }');
  expect((await found(report, { policy })).faults).toHaveLength(1);
});
