import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { SecretRef } from '../../../src/base/secrets/secret.ts';
import {
  type SecretOwner,
  type SecretPolicy,
  secretAuthorizer,
  secretRefsIn,
} from '../../../src/definitions/allow-lists/secrets.ts';
import { folderFor } from '../../support/delivery-case.ts';

const OPEN: SecretPolicy = {
  allowedFolders: [],
  deploymentRefs: [],
  archiveRefs: [],
  deploymentFiles: [],
  enforce: true,
};
const org = (id: string, over: Partial<SecretOwner> = {}): SecretOwner => ({
  id,
  api_key: { env: `${id.toUpperCase()}_KEY` },
  ...over,
});

/** The message of the refusal, or "allowed". */
async function decide(ref: SecretRef, own: SecretOwner, others: readonly SecretOwner[] = [], policy = OPEN) {
  const refusal = await secretAuthorizer([own, ...others], policy)(ref, own);
  return refusal === undefined ? 'allowed' : refusal.message;
}
const DEPLOYMENT = "a secret of Docket's own";
const OTHERS = 'a secret of another organization';
const UNLISTED = 'a secret outside the allow-list';
const OUTSIDE = 'a secret file outside the folders for secrets';

test.each([
  'SMTP_URL',
  'REDIS_URL',
  'COMPLIANCE_API_URL',
  'SMTP_OAUTH2_CLIENT_ID',
  'DOCKET_ADMIN_TOKENS',
  'DOCKET_ANYTHING_LATER',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'smtp_url',
])("a report cannot use Docket's own variable %s, even if org.yaml lists it", async (env) => {
  expect(await decide({ env }, org('acme', { secrets: { env: [env], files: [] } }))).toBe(DEPLOYMENT);
});

test("a variable that only starts like one of Docket's is allowed", async () => {
  expect(await decide({ env: 'SMTP_URL_OF_ACME' }, org('acme'))).toBe('allowed');
  expect(await decide({ env: 'AWS_ACME_KEY' }, org('acme'))).toBe('allowed');
});

test('a secret that only another org.yaml refers to is refused', async () => {
  const globex = org('globex', { smtp: { url: { env: 'GLOBEX_SMTP' } }, secrets: { env: ['GLX_*'], files: [] } });
  expect(await decide({ env: 'GLOBEX_KEY' }, org('acme'), [globex])).toBe(OTHERS);
  expect(await decide({ env: 'GLOBEX_SMTP' }, org('acme'), [globex])).toBe(OTHERS);
  expect(await decide({ env: 'GLX_SFTP' }, org('acme'), [globex])).toBe(OTHERS);
  expect(await decide({ env: 'ACME_SFTP' }, org('acme'), [globex])).toBe('allowed');
});

test('a secret that the org.yaml of the report also names is allowed', async () => {
  const globex = org('globex', { secrets: { env: ['SHARED'], files: [] } });
  expect(await decide({ env: 'SHARED' }, org('acme', { secrets: { env: ['SHARED'], files: [] } }), [globex])).toBe(
    'allowed',
  );
  expect(await decide({ env: 'SHARED' }, org('acme', { api_key: { env: 'SHARED' } }), [globex])).toBe('allowed');
});

test('"secrets" limits reports to the listed variables, prefixes, files and folders', async () => {
  const root = await folderFor(onTestFinished);
  const own = org('acme', { secrets: { env: ['ACME_*', 'EXACT'], files: [join(root, 'acme')] } });
  expect(await decide({ env: 'ACME_SFTP' }, own)).toBe('allowed');
  expect(await decide({ env: 'EXACT' }, own)).toBe('allowed');
  expect(await decide({ env: 'EXACTLY' }, own)).toBe(UNLISTED);
  expect(await decide({ env: 'OTHER' }, own)).toBe(UNLISTED);
  expect(await decide({ file: join(root, 'acme/key') }, own)).toBe('allowed');
  expect(await decide({ file: join(root, 'acme-other/key') }, own)).toBe(UNLISTED);
});

test('"secrets" of org.yaml keeps its own API key from its reports unless it is listed', async () => {
  expect(await decide({ env: 'ACME_KEY' }, org('acme', { secrets: { env: ['ACME_SFTP'], files: [] } }))).toBe(UNLISTED);
});

test('files are compared after links are resolved', async () => {
  const root = await folderFor(onTestFinished);
  await mkdir(join(root, 'secrets'));
  await writeFile(join(root, 'secrets/globex'), 'x');
  await writeFile(join(root, 'elsewhere'), 'x');
  await symlink(join(root, 'secrets/globex'), join(root, 'secrets/mine'));
  await symlink(join(root, 'elsewhere'), join(root, 'secrets/out'));
  const globex = org('globex', { api_key: { file: join(root, 'secrets/globex') } });
  const policy = { ...OPEN, allowedFolders: [join(root, 'secrets')] };
  expect(await decide({ file: join(root, 'secrets/mine') }, org('acme'), [globex], policy)).toBe(OTHERS);
  expect(await decide({ file: join(root, 'secrets/acme') }, org('acme'), [globex], policy)).toBe('allowed');
  expect(await decide({ file: join(root, 'secrets/../elsewhere') }, org('acme'), [globex], policy)).toBe(OUTSIDE);
  expect(await decide({ file: join(root, 'secrets/out') }, org('acme'), [globex], policy)).toBe(OUTSIDE);
});

test("the deployment's files are refused, and its credentials for the archive unless org.yaml lists them", async () => {
  const root = await folderFor(onTestFinished);
  const policy = { ...OPEN, deploymentFiles: [join(root, 'archive')], archiveRefs: [{ env: 'MINIO_SECRET' }] };
  expect(await decide({ file: join(root, 'archive/globex/report.csv') }, org('acme'), [], policy)).toBe(DEPLOYMENT);
  expect(await decide({ env: 'MINIO_SECRET' }, org('acme'), [], policy)).toBe(DEPLOYMENT);
  const shares = org('acme', { secrets: { env: ['MINIO_SECRET'], files: [] } });
  expect(await decide({ env: 'MINIO_SECRET' }, shares, [], policy)).toBe('allowed');
});

test('references that earlier versions allowed are refused only if enforced; others are always refused', async () => {
  const globex = org('globex');
  const narrowed = org('acme', { secrets: { env: ['ACME_*'], files: [] } });
  const enforced = async (ref: SecretRef, own: SecretOwner, over: Partial<SecretPolicy> = {}) =>
    (await secretAuthorizer([own, globex], { ...OPEN, enforce: false, ...over })(ref, own))?.enforced;
  expect(await enforced({ env: 'SMTP_URL' }, org('acme'))).toBe(false);
  expect(await enforced({ env: 'GLOBEX_KEY' }, org('acme'))).toBe(false);
  expect(await enforced({ env: 'OTHER' }, narrowed)).toBe(true);
  expect(await enforced({ file: '/etc/hostname' }, org('acme'), { allowedFolders: ['/run/secrets'] })).toBe(true);
  expect(await enforced({ file: '/proc/self/environ' }, org('acme'))).toBe(true);
  expect(await enforced({ file: `/proc/${process.pid}/environ` }, org('acme'))).toBe(true);
});

test('all references to secrets in a value are found with their paths', () => {
  const deliveries = [
    { sftp: { password: { env: 'A' }, host: 'env' } },
    { s3: { credentials: { secret_access_key: { file: '/b' } } } },
  ];
  expect(secretRefsIn({ deliveries })).toEqual([
    { path: ['deliveries', 0, 'sftp', 'password'], ref: { env: 'A' } },
    { path: ['deliveries', 1, 's3', 'credentials', 'secret_access_key'], ref: { file: '/b' } },
  ]);
});
