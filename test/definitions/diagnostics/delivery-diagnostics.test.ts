import { describe, expect, test } from 'vitest';
import { BUILT_IN_KINDS, loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { describeDelivery } from '../../../src/definitions/schema/kinds.ts';
import { createDeliverySchema } from '../../../src/definitions/schema/report-definition.ts';
import { urlDiagnostic } from '../../../src/deliver/targets/post-url.ts';
import { TARGETS } from '../../../src/deliver/targets/registry.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';

const PINNED = 'SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU';
const SFTP = { host: 'h.example', user: 'u', password: { env: 'P' }, host_key: PINNED, path: 'in' };

describe('a delivery is described', () => {
  test.each<[string, object, readonly string[]]>([
    [
      'by each of its addresses',
      { email: { to: ['a@acme.example', 'b@acme.example'] } },
      ['a@acme.example', 'b@acme.example'],
    ],
    [
      'by its folder, with the template unfilled',
      { directory: { path: 'out/{{ period.label }}' } },
      ['out/{{ period.label }}'],
    ],
    ['by bucket and key', { s3: { bucket: 'reports', key: 'a/{{ file.name }}' } }, ['s3://reports/a/{{ file.name }}']],
    ['by server and path', { sftp: { ...SFTP, path: '/in' } }, ['sftp://u@h.example/in']],
    ['by its port if it is not the default', { sftp: { ...SFTP, port: 2222 } }, ['sftp://u@h.example:2222/in']],
    ['by its IPv6 address in brackets', { sftp: { ...SFTP, host: '2001:db8::1' } }, ['sftp://u@[2001:db8::1]/in']],
    [
      'by its URL without the query, which may be a secret',
      { webhook: { url: 'https://hooks.example/x?token=abc', secret: { env: 'S' } } },
      ['https://hooks.example/x'],
    ],
    [
      'by the variable with its secret URL',
      { webhook: { url: { env: 'HOOK_URL' }, secret: { env: 'S' } } },
      ['webhook of HOOK_URL'],
    ],
    [
      'by the file with its secret URL',
      { webhook: { url: { file: '/run/secrets/hook' }, secret: { env: 'S' } } },
      ['webhook of /run/secrets/hook'],
    ],
  ])('%s', (_, written, names) => {
    const { addresses } = describeDelivery(createDeliverySchema(BUILT_IN_KINDS).parse(written), TARGETS);
    expect(addresses).toEqual(names);
  });
});

test.each<[string, string, string | undefined]>([
  ['a public host over https', 'https://hooks.example/x', undefined],
  ['localhost', 'https://localhost:8443/x', 'https://localhost:8443'],
  ['a name below localhost', 'https://hooks.localhost/x', 'https://hooks.localhost'],
  ['an IPv6 loopback address', 'https://[::1]/x', 'https://[::1]'],
  ['a private network', 'https://192.168.0.4/x', 'https://192.168.0.4'],
  ['a public host over http', 'http://hooks.example/x', 'http://hooks.example'],
])('the URL of a webhook is checked: %s', (_, url, refused) => {
  expect(urlDiagnostic('a webhook', url)?.got).toBe(refused && JSON.stringify(refused));
});

describe('a delivery of a report', () => {
  const faultsOf = async (target: string, org = ORG, report = REPORT) => {
    const text = report.replace('directory: { path: out }', target);
    return (await loadDefinitions(await jobsFolder({ 'acme/org.yaml': org, 'acme/weekly.yaml': text }))).diagnostics;
  };

  test('may use a private address without TLS if the organization sets allow_private', async () => {
    const webhook = 'webhook: { url: "http://10.1.2.3/hook", secret: { env: S } }';
    expect(await faultsOf(webhook, `${ORG}allow_private: true\n`)).toEqual([]);
    expect(await faultsOf(webhook)).toHaveLength(1);
  });

  test('may be a webhook with a public URL or a secret URL', async () => {
    expect(await faultsOf('webhook: { url: "https://hooks.example/x", secret: { env: S } }')).toEqual([]);
    expect(await faultsOf('webhook: { url: { env: HOOK_URL }, secret: { env: S } }')).toEqual([]);
  });

  test('may have a fixed key only if the report has one file', async () => {
    const key = 's3: { bucket: reports, key: "latest.xlsx" }';
    expect(await faultsOf(key, ORG, REPORT.replace('  - { format: csv }\n', ''))).toEqual([]);
    // A CSV output also makes a schema file.
    const csv = REPORT.replace('  - { format: xlsx, name: "KPIs {{ period.label }}.xlsx" }\n', '').replace(
      '[xlsx]',
      '[]',
    );
    expect(await faultsOf(key, ORG, csv)).toMatchObject([{ expected: 'a key of its own for each file of the report' }]);
  });

  test.each([
    ['[xlsx]', 0, 0],
    ['[csv]', 0, 1],
    ['[totals]', 0, 0],
    ['[schema]', 1, 1],
    ['[xlsx, csv]', 1, 1],
    ['[csv, totals]', 1, 1],
    ['[csv, schema]', 1, 1],
  ])('may have a fixed key only if it takes one file: %s', async (files, ofOne, ofTwo) => {
    const target = `s3: { bucket: reports, key: "latest", files: ${files} }`;
    const one = REPORT.replace(/ {2}- id: roster\n( {4}.*\n)+/, '');
    const faults = [await faultsOf(target, ORG, one), await faultsOf(target)];
    expect(faults.map(({ length }) => length)).toEqual([ofOne, ofTwo]);
    for (const { expected } of faults.flat()) expect(expected).toBe('a key of its own for each file of the report');
  });

  test('with an invalid key has one error, not a second one about a fixed key', async () => {
    expect(await faultsOf('s3: { bucket: reports, key: "../x" }')).toHaveLength(1);
  });
});
