import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { localRedis } from '../../src/demo/local-redis.ts';
import { captureStderr } from '../support/capture-stderr.ts';
import { docket } from '../support/docket.ts';
import { freePort } from '../support/free-port.ts';
import { jobsFolder, ORG, REPORT } from '../support/jobs-folder.ts';
import { startDocket } from '../support/running-docket.ts';

const PASSWORD = 'pa55w0rd-of-mail';
const SMTP = `smtp://me:${PASSWORD}@127.0.0.1:1`;

/** Makes a process run this script before its own. */
async function preloaded(script: string): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'docket-fatal-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'preload.mjs');
  await writeFile(path, script);
  return { NODE_OPTIONS: `--import=${pathToFileURL(path).href}` };
}

const FAULTS = {
  unhandledRejection: `Promise.reject(new Error('boom at ${SMTP}'))`,
  uncaughtException: `setImmediate(() => { throw new Error('boom at ${SMTP}') })`,
} as const;

test.each(['unhandledRejection', 'uncaughtException'] as const)(
  'a command prints an %s like any other error, and exits with 1',
  async (event) => {
    // Fails as soon as Docket listens for the event, not before.
    const preload = await preloaded(
      `process.on('newListener', (name) => { if (name === '${event}') setImmediate(() => { ${FAULTS[event]} }) })`,
    );
    const env = { DOCKET_JOBS: await jobsFolder({ 'acme/org.yaml': ORG }), SMTP_URL: SMTP, ...preload };
    const { code, stdout, stderr } = await docket(['check', '--offline', '--json'], { env });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: 'internal.defect', message: expect.stringContaining('boom at smtp://me:[secret]@') },
    });
    expect(stderr).toContain('boom at smtp://me:[secret]@');
    expect(stdout + stderr).not.toContain(PASSWORD);
  },
);

test('docket start logs the output of dependencies and warnings of Node as JSON', async () => {
  const preload = await preloaded(
    `process.once('SIGUSR2', () => {
      console.error('[ioredis] Unhandled error event:', new Error('connect ETIMEDOUT ${SMTP}').stack);
      process.emitWarning('old');
    })`,
  );
  const redis = await localRedis({ PATH: process.env.PATH });
  onTestFinished(() => redis.close());
  const folder = await mkdtemp(join(tmpdir(), 'docket-fatal-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  // The helper throws for a line that is not JSON.
  const child = startDocket(['--role', 'admin'], {
    env: {
      REDIS_URL: redis.url,
      DOCKET_ARCHIVE: pathToFileURL(folder).href,
      SMTP_URL: SMTP,
      DOCKET_JOBS: await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT }),
      DOCKET_ADMIN_PORT: String(await freePort()),
      ...preload,
    },
    cwd: folder,
  });
  onTestFinished(() => child.kill());
  await child.logged(({ msg }) => msg === 'Docket runs');
  child.signal('SIGUSR2');
  const { msg } = await child.logged(({ why }) => why === 'console');
  expect(msg).toContain('[ioredis] Unhandled error event: Error: connect ETIMEDOUT');
  expect(await child.logged(({ why }) => why === 'Warning')).toMatchObject({ level: 'warn', msg: 'old' });
  expect(JSON.stringify(child.lines)).not.toContain(PASSWORD);
  expect(await child.stop()).toEqual([0, null]);
});

test.each(['unhandledRejection', 'uncaughtException'] as const)(
  'docket start logs an %s without secrets, and exits with 1',
  async (event) => {
    const preload = await preloaded(`process.once('SIGUSR2', () => { ${FAULTS[event]} })`);
    // A Redis of its own: a Redis belongs to one archive, and other tests use the shared one.
    const redis = await localRedis({ PATH: process.env.PATH });
    onTestFinished(() => redis.close());
    const folder = await mkdtemp(join(tmpdir(), 'docket-fatal-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const child = spawn(process.execPath, [join(process.cwd(), 'dist/main.js'), 'start', '--role', 'admin'], {
      env: {
        PATH: process.env.PATH ?? '',
        REDIS_URL: redis.url,
        DOCKET_ARCHIVE: pathToFileURL(folder).href,
        SMTP_URL: SMTP,
        DOCKET_JOBS: await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT }),
        DOCKET_ADMIN_PORT: String(await freePort()),
        LOG_FORMAT: 'json',
        ...preload,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const lines: string[] = [];
    createInterface({ input: captureStderr(child.stderr) }).on('line', (line) => {
      lines.push(line);
      if (line.includes('"Docket runs"')) child.kill('SIGUSR2');
    });
    const [code] = await once(child, 'close');
    expect(code).toBe(1);
    const last = JSON.parse(lines.at(-1) ?? '');
    expect(last).toMatchObject({
      level: 'error',
      msg: 'Uncaught error: the process exits',
      error: { code: 'internal.defect', message: expect.stringContaining('boom at smtp://127.0.0.1:1') },
      why: expect.stringMatching(new RegExp(`^${event}: Error: boom .*preload\\.mjs`, 's')),
    });
    expect(lines.join('\n')).not.toContain(PASSWORD);
  },
);
