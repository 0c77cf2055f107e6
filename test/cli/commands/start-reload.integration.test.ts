import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type LocalRedis, localRedis } from '../../../src/demo/local-redis.ts';
import { freePort } from '../../support/free-port.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { type LogLine, type RunningCommand, runCommand, startCommand } from '../../support/run-command.ts';

let redis: LocalRedis | undefined;
const running: RunningCommand[] = [];
afterEach(async () => {
  await Promise.all(running.map((each) => each.stop()));
  await redis?.close();
});

test('a running scheduler reloads changed files, keeps the last good version of an invalid one, and reloads on SIGHUP', async () => {
  redis = await localRedis({ PATH: process.env.PATH });
  const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
  const port = String(await freePort());
  const env = { REDIS_URL: redis.url, DOCKET_JOBS: folder };
  const start = (args: readonly string[], more: Readonly<Record<string, string>>) => {
    const started = startCommand(args, { env: { ...env, ...more }, cwd: folder });
    running.push(started);
    return started;
  };
  const scheduler = start(['--role', 'scheduler'], { DOCKET_ADMIN_PORT: port });
  /** The next matching line from now on. */
  const logged = (matches: (line: LogLine) => boolean) => scheduler.logged(matches, scheduler.lines.length);
  const inForce = (line: LogLine) => line.msg === 'Definitions activated';
  const put = async (text: string) => {
    const path = join(folder, 'acme/weekly.yaml');
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
  };

  await scheduler.logged(({ msg }) => msg === 'Docket runs');
  const changed = logged(inForce);
  await put(REPORT.replace('0 8 * * MON', '0 9 * * MON'));
  await changed;
  expect(JSON.parse((await runCommand(['diff', '--json'], { env })).stdout)).toMatchObject({ changes: [] });

  const broken = ({ level, msg }: LogLine) => level === 'error' && msg.includes('weekly.yaml:5:');
  const reported = logged(broken);
  await put(REPORT.replace('previous_week', 'last_weak'));
  await reported;
  const again = logged(broken);
  scheduler.reload();
  await again;
  const ready = await (await fetch(`http://127.0.0.1:${port}/readyz`)).text();
  expect(ready).toContain('1 on the last good version');

  // A process that never loaded the good version opens runs of the active version.
  const tokens = { ...env, DOCKET_ADMIN_TOKENS: join(folder, 'tokens.txt') };
  const { stdout: token } = await runCommand(['tokens', 'create', '--name', 'test', '--role', 'operator'], {
    env: tokens,
  });
  const adminPort = String(await freePort());
  const admin = start(['--role', 'admin'], { ...tokens, DOCKET_ADMIN_PORT: adminPort });
  const { url } = await admin.logged(({ msg }) => msg === 'Docket runs');
  const ask = async (report: string) => {
    const headers = { authorization: `Bearer ${token.trim()}`, 'content-type': 'application/json' };
    const body = '{"deliver":false}';
    const response = await fetch(`${url}/api/reports/acme/${report}/runs`, { method: 'POST', headers, body });
    return `${response.status} ${await response.text()}`;
  };
  expect(await ask('weekly')).toMatch(/^202 .*"acme"/);
  expect(await ask('none')).toMatch(/^404 /);
  // A report can be paused while its file is invalid.
  expect(await runCommand(['pause', 'acme/weekly', '--reason', 'wrong figures'], { env })).toMatchObject({ code: 0 });
  expect(await runCommand(['resume', 'acme/weekly', '--reason', 'right'], { env })).toMatchObject({ code: 0 });
  await admin.stop();

  const corrected = logged(inForce);
  await put(REPORT);
  await corrected;
  expect(await scheduler.stop()).toMatchObject({ code: 0 });
});
