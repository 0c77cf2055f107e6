import { expect, test } from 'vitest';
import { jobsFolder, ORG, REPORT } from '../../../support/jobs-folder.ts';
import { runCommand } from '../../../support/run-command.ts';

const SFTP = `  - sftp: { host: sftp.bank.example, user: acme, password: { env: GLOBEX_KEY }, host_key: "SHA256:${'A'.repeat(43)}", path: in }\n`;

async function check(...env: [string, string][]) {
  const folder = await jobsFolder({
    'acme/org.yaml': ORG,
    'acme/weekly.yaml': REPORT + SFTP,
    'globex/org.yaml': ORG.replace('ACME_KEY', 'GLOBEX_KEY'),
  });
  const args = ['check', '--offline', '--json'];
  const { code, stdout } = await runCommand(args, { env: { DOCKET_JOBS: folder, ...Object.fromEntries(env) } });
  return { code, said: JSON.parse(stdout) };
}

test('docket check rejects a secret of another organization, and only warns with DOCKET_REPORT_SCOPE=warn', async () => {
  const line = REPORT.split('\n').length;
  const found = [expect.objectContaining({ got: 'GLOBEX_KEY', line })];
  expect(await check()).toMatchObject({ code: 1, said: { faults: found, warnings: [] } });
  expect(await check(['DOCKET_REPORT_SCOPE', 'warn'])).toMatchObject({
    code: 0,
    said: { faults: [], warnings: found },
  });
});

test('docket check requires destinations for every delivery with DOCKET_REQUIRE_DESTINATIONS=on', async () => {
  const { code, said } = await check(['DOCKET_REQUIRE_DESTINATIONS', 'on'], ['DOCKET_REPORT_SCOPE', 'warn']);
  expect(code).toBe(1);
  expect(said.faults).toHaveLength(2);
});
