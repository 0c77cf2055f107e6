import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { freePort, type LocalRedis, localRedis } from '../../src/demo/redis.ts';
import { docket } from '../support/docket.ts';
import { jobsFolder, ORG, REPORT } from '../support/jobs-folder.ts';
import { keptStderr } from '../support/kept-stderr.ts';
import { startDocket } from '../support/running-docket.ts';

const lineSchema = z.looseObject({ level: z.string(), msg: z.string() });
type Line = z.infer<typeof lineSchema>;

let redis: LocalRedis | undefined;
let child: ChildProcess | undefined;
afterEach(async () => {
  child?.kill('SIGKILL');
  await redis?.close();
});

test('a running docket takes changed files, keeps the last good version of a broken one, and reads again on SIGHUP', async () => {
  redis = await localRedis({ PATH: process.env.PATH });
  const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
  const port = String(await freePort());
  const env = { PATH: process.env.PATH ?? '', REDIS_URL: redis.url, DOCKET_JOBS: folder };
  const started = spawn(process.execPath, [join(process.cwd(), 'dist/main.js'), 'start', '--role', 'scheduler'], {
    env: { ...env, DOCKET_ADMIN_PORT: port },
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child = started;
  let waiting: { readonly wanted: (line: Line) => boolean; readonly resolve: (line: Line) => void }[] = [];
  createInterface({ input: keptStderr(started.stderr) }).on('line', (text) => {
    const line = lineSchema.parse(JSON.parse(text));
    const heard = waiting.filter(({ wanted }) => wanted(line));
    waiting = waiting.filter((one) => !heard.includes(one));
    for (const { resolve } of heard) resolve(line);
  });
  /** The next such line from now on. */
  const logged = (wanted: (line: Line) => boolean) => new Promise<Line>((resolve) => waiting.push({ wanted, resolve }));
  const inForce = (line: Line) => line.msg === 'Definitions were put in force';
  const put = async (text: string) => {
    const path = join(folder, 'acme/weekly.yaml');
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
  };

  await logged(({ msg }) => msg === 'Docket runs');
  const changed = logged(inForce);
  await put(REPORT.replace('0 8 * * MON', '0 9 * * MON'));
  await changed;
  expect((await docket(['diff'], { env })).stdout).toBe('Nothing changes.\n');

  const broken = ({ level, msg }: Line) => level === 'error' && msg.includes('weekly.yaml:5:');
  const said = logged(broken);
  await put(REPORT.replace('previous_week', 'last_weak'));
  await said;
  const again = logged(broken);
  started.kill('SIGHUP');
  await again;
  const ready = await (await fetch(`http://127.0.0.1:${port}/readyz`)).text();
  expect(ready).toContain('1 on the last good version');

  // Who asks for the report by a process that has never read its good version gets the run of the schedule's version.
  const tokens = { ...env, DOCKET_ADMIN_TOKENS: join(folder, 'tokens.txt') };
  const { stdout: token } = await docket(['tokens', 'create', '--name', 'test', '--role', 'operator'], { env: tokens });
  const deskPort = String(await freePort());
  const desk = startDocket(['--role', 'admin'], { env: { ...tokens, DOCKET_ADMIN_PORT: deskPort }, cwd: folder });
  const { url } = await desk.logged(({ msg }) => msg === 'Docket runs');
  const ask = async (report: string) => {
    const headers = { authorization: `Bearer ${token.trim()}`, 'content-type': 'application/json' };
    const body = '{"deliver":false}';
    const response = await fetch(`${url}/api/reports/acme/${report}/runs`, { method: 'POST', headers, body });
    return `${response.status} ${await response.text()}`;
  };
  expect(await ask('weekly')).toMatch(/^202 .*"acme"/);
  expect(await ask('none')).toMatch(/^404 /);
  // And whoever wants it to stop need not correct the file first.
  expect(await docket(['pause', 'acme/weekly', '--reason', 'wrong figures'], { env })).toMatchObject({ code: 0 });
  expect(await docket(['resume', 'acme/weekly', '--reason', 'right'], { env })).toMatchObject({ code: 0 });
  await desk.stop();

  const corrected = logged(inForce);
  await put(REPORT);
  await corrected;
  started.kill('SIGTERM');
  expect(await once(started, 'exit')).toEqual([0, null]);
});
