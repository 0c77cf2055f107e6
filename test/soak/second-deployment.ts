import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { stringify } from 'yaml';
import { freePort } from '../../src/demo/redis.ts';
import type { World } from './world.ts';

/** How long it may take to refuse, ms: it has to start first, on a machine that is busy. */
const REFUSES_WITHIN_MS = 30_000;

/**
 * Starts a deployment with an archive and a jobs folder of its own on the world's Redis, which must refuse it.
 * Resolves to what it did instead; undefined when it refused, or met a Redis that was away.
 */
export async function secondDeployment({
  main,
  folder,
  redis,
  sandbox,
  sink,
  env,
}: World): Promise<string | undefined> {
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
  let said = '';
  child.stderr.on('data', (piece) => {
    said = `${said}${piece}`.slice(-4_000);
  });
  const gone = once(child, 'close');
  const patience = setTimeout(() => child.kill('SIGKILL'), REFUSES_WITHIN_MS);
  const [code] = await gone;
  clearTimeout(patience);
  if (code === null) return `it went on for ${REFUSES_WITHIN_MS / 1_000} s`;
  // Of anything else that kept it from starting nothing is learnt.
  return /deployment\.(conflict|mass_removal)|redis\./.test(said)
    ? undefined
    : `it ended with ${code}: ${said.slice(-500)}`;
}
