import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/**
 * A deployment of many organizations with a key and some small reports each; `start` runs one process of it.
 *
 * @param report what differs from the smallest report that there is, e.g. its schedule
 */
export async function manyOrgs({ redisUrl, apiUrl, orgs, reports, budget, report = {} }) {
  const folder = await mkdtemp(join(tmpdir(), 'docket-bench-'));
  const names = Array.from({ length: orgs }, (_, n) => `org-${n}`);
  const small = {
    version: 1,
    title: 'Small',
    owner: 'owner@acme.example',
    period: 'previous_week',
    sections: [{ id: 'created', metrics: ['profiles.created'] }],
    outputs: [{ format: 'csv' }],
    ...report,
  };
  for (const [n, org] of names.entries()) {
    await mkdir(join(folder, 'jobs', org), { recursive: true });
    const settings = { org: 100 + n, api_key: { env: `KEY_${n}` }, timezone: 'UTC', recipients: {}, budget };
    await writeFile(join(folder, 'jobs', org, 'org.yaml'), stringify(settings));
    for (let index = 0; index < reports; index += 1) {
      // Another question each, so that none is answered by another's.
      const day = new Date(Date.UTC(2024, 0, 1 + index)).toISOString().slice(0, 10);
      const own = { ...small, period: { from: '2024-01-01', to: day } };
      await writeFile(join(folder, 'jobs', org, `report-${index}.yaml`), stringify(own));
    }
  }
  const env = {
    PATH: process.env.PATH,
    REDIS_URL: redisUrl,
    COMPLIANCE_API_URL: apiUrl,
    DOCKET_JOBS: join(folder, 'jobs'),
    DOCKET_ARCHIVE: `file://${join(folder, 'archive')}`,
    DOCKET_ADMIN_PORT: '0',
    ...Object.fromEntries(names.map((_, n) => [`KEY_${n}`, `key-${n}`])),
  };
  const open = new Set();
  return {
    folder,
    jobs: join(folder, 'jobs'),
    /** A process with this role, once it runs. `said` counts its log lines by their message. */
    start: async (...args) => {
      const child = spawn(process.execPath, [MAIN, 'start', '--role', ...args], {
        env,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      open.add(child);
      const ended = new Promise((resolve) => child.once('exit', resolve));
      const kill = () => child.kill('SIGKILL');
      process.once('exit', kill);
      const said = new Map();
      const waiting = new Set();
      const began = Date.now();
      createInterface({ input: child.stderr }).on('line', (text) => {
        const { msg, level } = JSON.parse(text);
        if (level === 'error') {
          process.stderr.write(`${text}\n`);
          if (msg.startsWith('Left out')) kill();
        }
        said.set(msg, (said.get(msg) ?? 0) + 1);
        for (const waiter of waiting) if ((said.get(waiter.msg) ?? 0) >= waiter.count) waiter.resolve();
      });
      const times = (msg, count) =>
        new Promise((resolve, reject) => {
          if ((said.get(msg) ?? 0) >= count) return resolve();
          waiting.add({ msg, count, resolve });
          void ended.then((code) => reject(new Error(`docket start ended with ${code}`)));
        });
      await times('Docket runs', 1);
      return {
        said,
        times,
        startMs: Date.now() - began,
        cpuMs: () => cpuMsOf(child.pid),
        memoryMb: () => memoryMbOf(child.pid),
        close: async () => {
          child.kill('SIGTERM');
          await ended;
          process.off('exit', kill);
        },
      };
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** CPU that a process and its threads have taken, ms: what it costs, however busy the machine is. */
async function cpuMsOf(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // In ticks of 10 ms; user and system.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function memoryMbOf(pid) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}
