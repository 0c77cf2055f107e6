import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { freePort } from '../../dist/demo/redis.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/**
 * `docket start` as it is deployed, in a process of its own: one organization for each key, each with the report
 * `report`. `ask` triggers it through the admin route, for its own period or another one, and resolves when its run has ended.
 *
 * @param keys organization's name → API key
 * @param role what the process does; everything when absent
 */
export async function startDocket({ redisUrl, apiUrl, keys, budget, report, role = 'all' }) {
  const folder = await mkdtemp(join(tmpdir(), 'docket-bench-'));
  const tokensFile = join(folder, 'tokens.yaml');
  const port = await freePort();
  const orgs = Object.keys(keys);
  for (const org of orgs) {
    await mkdir(join(folder, 'jobs', org), { recursive: true });
    const settings = { org: 'current', api_key: { env: variable(org) }, timezone: 'UTC', recipients: {}, budget };
    await writeFile(join(folder, 'jobs', org, 'org.yaml'), stringify(settings));
    await writeFile(join(folder, 'jobs', org, 'report.yaml'), stringify(report));
  }
  const env = {
    PATH: process.env.PATH,
    REDIS_URL: redisUrl,
    COMPLIANCE_API_URL: apiUrl,
    DOCKET_JOBS: join(folder, 'jobs'),
    DOCKET_ARCHIVE: `file://${join(folder, 'archive')}`,
    DOCKET_ADMIN_PORT: String(port),
    DOCKET_ADMIN_TOKENS: tokensFile,
    // A bench asks more often than a person or a script does; who asks too often is refused, and measures that.
    DOCKET_ADMIN_RATE: '1000000',
    ...Object.fromEntries(orgs.map((org) => [variable(org), keys[org]])),
  };
  const create = ['tokens', 'create', '--name', 'bench', '--role', 'operator'];
  const made = await promisify(execFile)(process.execPath, [MAIN, ...create], { env });
  const token = made.stdout.trim();
  const child = spawn(process.execPath, [MAIN, 'start', '--role', role], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  // It must not outlive a bench that fails.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  await saysItRuns(child);
  const url = `http://127.0.0.1:${port}`;
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const ask = async (org, period) => {
    const response = await fetch(`${url}/api/reports/${org}/report/runs`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ deliver: false, period }),
    });
    if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
    const at = new URL(response.headers.get('location'), url);
    await response.arrayBuffer();
    for (;;) {
      const run = await (await fetch(at, { headers })).json();
      if (run.state === 'done') return run;
      if (run.finished_at) throw new Error(`the run ended ${run.state}: ${JSON.stringify(run.error)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  return {
    url,
    headers,
    ask,
    close: async () => {
      child.kill('SIGTERM');
      await ended;
      process.off('exit', kill);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const variable = (org) => `KEY_${org.toUpperCase()}`;

/** Resolves at the log line that says so; rejects with everything the process said when it ends before. */
function saysItRuns(child) {
  let said = '';
  return new Promise((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text;
      if (said.includes('Left out')) reject(new Error(said));
      if (said.includes('Docket runs')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`docket start ended with ${code}:\n${said}`)));
  });
}
