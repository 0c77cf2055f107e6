import { expect, test } from 'vitest';
import { readConfig } from '../../../src/base/config/config.ts';

const archiveOf = (url: string) => readConfig({ DOCKET_ARCHIVE: url }).DOCKET_ARCHIVE;
const faultsOf = (env: Record<string, string>): string => {
  try {
    readConfig(env);
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

test('DOCKET_ARCHIVE is a folder, or a bucket with the settings of its store', () => {
  expect(archiveOf('file:///var/lib/docket/archive')).toEqual({ kind: 'directory', folder: '/var/lib/docket/archive' });
  expect(archiveOf('s3://reports')).toMatchObject({ kind: 's3', bucket: 'reports', prefix: '', links: true });
  expect(
    archiveOf(
      's3://reports/docket/prod/?endpoint=https://minio.acme.example:9000&region=eu-central-1&path_style=true&sse=aws:kms:arn:aws:kms:eu:1:key/2&access_key_id=env:ID&secret_access_key=file:/run/secrets/s3&staging=/var/lib/docket/staging&links=false',
    ),
  ).toEqual({
    kind: 's3',
    bucket: 'reports',
    prefix: 'docket/prod',
    endpoint: 'https://minio.acme.example:9000',
    region: 'eu-central-1',
    path_style: true,
    encryption: { kms_key: 'arn:aws:kms:eu:1:key/2' },
    credentials: { access_key_id: { env: 'ID' }, secret_access_key: { file: '/run/secrets/s3' } },
    staging: '/var/lib/docket/staging',
    links: false,
  });
  expect(archiveOf('s3://reports?sse=AES256')).toMatchObject({ encryption: 'AES256' });
});

test('a login in COMPLIANCE_API_URL is refused in any spelling, and the error does not contain it', () => {
  for (const url of [
    'https://me:hunter2@api.example',
    'https:/me:hunter2@api.example',
    'https:me:hunter2@api.example',
  ]) {
    expect(() => readConfig({ COMPLIANCE_API_URL: url })).toThrow(/without user and password/);
    expect(() => readConfig({ COMPLIANCE_API_URL: url })).not.toThrow(/hunter2/);
  }
});

test.each([
  ['archive', 'a file: or s3: URL'],
  ['https://reports.s3.amazonaws.com/', 'starting with file: or s3:'],
  ['file://server/share', 'a folder of this machine'],
  // URLs have no relative paths: this would be /archive, and the next one the root.
  ['file:archive', 'a folder of this machine'],
  ['file:', 'a folder of this machine'],
  ['file:///var/lib/a%00b', 'a folder of this machine'],
  ['s3://a/b', 'the name of a bucket'],
  ['s3://minio.example:9000/reports', 'the server in endpoint='],
  ['s3://reports/../other?endpoint=x', 'endpoint=https://'],
  ['s3://reports/a//b', 'a prefix of letters'],
  ['s3://reports/.hidden', 'a prefix of letters'],
  ['s3://reports?endpont=https://x.example', 'parameters among endpoint'],
  ['s3://reports?region=a&region=b', 'region once'],
  ['s3://reports?path_style=yes', 'path_style=true or path_style=false'],
  ['s3://reports?sse=rot13', 'sse=AES256 or sse=aws:kms:'],
  ['s3://reports?access_key_id=env:ID', 'access_key_id and secret_access_key together'],
  ['s3://reports?session_token=env:ID', 'session_token with access_key_id'],
  ['s3://reports?staging=tmp', 'staging=/an/absolute/path'],
])('%s is refused: %s', (url, expected) => {
  expect(faultsOf({ DOCKET_ARCHIVE: url })).toContain(expected);
});

test.each([
  's3://AKIDEXAMPLE:topsecret@reports',
  's3://reports?access_key_id=AKIDEXAMPLE&secret_access_key=topsecret',
  's3://reports?endpoint=https://AKIDEXAMPLE:topsecret@minio.example',
  'S3:AKIDEXAMPLE:topsecret@reports',
  'http://AKIDEXAMPLE:topsecret@minio.example/reports',
])('a credential in the URL (%s) is refused, and the error does not contain it', (url) => {
  const faults = faultsOf({ DOCKET_ARCHIVE: url });
  expect(faults).toContain('DOCKET_ARCHIVE: expected');
  expect(faults).not.toMatch(/topsecret|AKIDEXAMPLE/);
});

test('all errors are reported at once, those of the archive and those of other variables', () => {
  const faults = faultsOf({
    DOCKET_ARCHIVE: 's3://x?path_style=1&sse=no&color=blue',
    DOCKET_ADMIN_PORT: 'many',
    LOG_LEVEL: 'loud',
  });
  expect(faults.split('\n')).toHaveLength(7);
  for (const part of ['the name of a bucket', 'path_style', 'sse=', '"color"', 'DOCKET_ADMIN_PORT', 'LOG_LEVEL']) {
    expect(faults).toContain(part);
  }
});
