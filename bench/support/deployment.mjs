import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../dist-modules/demo/local-redis.js';
import { layOut, MAIN, ONE_CALL, startProcess } from './processes.mjs';

/** @typedef {import('./processes.mjs').ReportFile} ReportFile */
/** @typedef {import('./processes.mjs').OrgFile} OrgFile */
/** @typedef {import('../../dist-modules/admin/api/schemas.js').RunView} RunView */

/**
 * `docket start` in its own process: one organization per key, each with the report `report` and those of `others`.
 * `ask` triggers `report` through the admin route, for its own period or another one, and resolves when the run has
 * ended.
 *
 * @param {{
 *   redisUrl: string, apiUrl: string, keys: Record<string, string>, budget: OrgFile['budget'], report?: ReportFile,
 *   role?: string,
 *   others?: Record<string, ReportFile>,
 * }} options `keys`: API keys by name of the organization; `role`: of the process, default: all
 */
export async function startDocket({ redisUrl, apiUrl, keys, budget, report = ONE_CALL, role = 'all', others = {} }) {
  const orgs = Object.entries(keys).map(([org, key]) => [
    org,
    { key, settings: { budget }, reports: { report, ...others } },
  ]);
  const laidOut = await layOut(Object.fromEntries(orgs));
  const port = await freePort();
  const env = {
    ...laidOut.env,
    REDIS_URL: redisUrl,
    COMPLIANCE_API_URL: apiUrl,
    DOCKET_ADMIN_PORT: String(port),
    DOCKET_ADMIN_TOKENS: join(laidOut.folder, 'tokens.yaml'),
    // A benchmark sends more requests than people or scripts do, and would be refused.
    DOCKET_ADMIN_RATE: '1000000',
  };
  const create = ['tokens', 'create', '--name', 'bench', '--role', 'operator'];
  const made = await promisify(execFile)(process.execPath, [MAIN, ...create], {
    env: { PATH: process.env.PATH, ...env },
  });
  const docket = await startProcess(env, role);
  const url = `http://127.0.0.1:${port}`;
  const headers = { Authorization: `Bearer ${made.stdout.trim()}`, 'Content-Type': 'application/json' };
  /** @type {(org: string, period?: ReportFile['period']) => Promise<RunView>} */
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
      const run = /** @type {RunView} */ (await (await fetch(at, { headers })).json());
      if (run.state === 'done') return run;
      if (run.finished_at) throw new Error(`the run ended ${run.state}: ${JSON.stringify(run.error)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  return {
    url,
    headers,
    ask,
    cpuMs: docket.cpuMs,
    close: async () => {
      await docket.close();
      await laidOut.close();
    },
  };
}
