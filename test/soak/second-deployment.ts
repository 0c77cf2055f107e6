import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { stringify } from 'yaml';
import { freePort } from '../support/free-port.ts';
import type { Deployment } from './deployment.ts';

/** Limit for the refusal, ms: on a busy machine the process takes long to start. */
const REFUSAL_TIMEOUT_MS = 30_000;

/**
 * Starts a second deployment with its own archive and jobs folder on the same Redis, which must be refused. Resolves to
 * what it did instead; undefined if it refused, or if Redis was unreachable.
 */
export async function secondDeployment({
  main,
  folder,
  redis,
  sandbox,
  sink,
  env,
}: Deployment): Promise<string | undefined> {
  const own = join(folder, 'second');
  await mkdir(join(own, 'jobs', 'stranger'), { recursive: true });
  const organization = { name: 'Stranger', org: 101, api_key: { env: 'KEY_ALL' }, timezone: 'UTC' };
  await writeFile(join(own, 'jobs', 'stranger', 'org.yaml'), stringify(organization));
  const child = spawn(process.execPath, [main, 'start', '--role', 'worker,scheduler,admin'], {
    cwd: own,
    env: {
      ...env,
      PATH: process.env.PATH ?? '',
      REDIS_URL: redis.url,
      COMPLIANCE_API_URL: sandbox.url,
      SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
      DOCKET_JOBS: join(own, 'jobs'),
      DOCKET_ARCHIVE: pathToFileURL(join(own, 'archive')).href,
      DOCKET_ADMIN_PORT: String(await freePort()),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.on('data', (piece) => {
    output = `${output}${piece}`.slice(-4_000);
  });
  const exited = once(child, 'close');
  const timeout = setTimeout(() => child.kill('SIGKILL'), REFUSAL_TIMEOUT_MS);
  const [code] = await exited;
  clearTimeout(timeout);
  if (code === null) return `it went on for ${REFUSAL_TIMEOUT_MS / 1_000} s`;
  // Any other end does not show that it was refused.
  return /deployment\.(conflict|mass_removal)|redis\./.test(output)
    ? undefined
    : `it ended with ${code}: ${output.slice(-500)}`;
}
