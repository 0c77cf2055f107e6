import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';

export const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/**
 * The content of the files of a report and an organization, before defaults apply.
 *
 * @typedef {import('zod').input<typeof import('../../dist-modules/compose/built-in-kinds.js').reportFileSchema>}
 * ReportFile
 * @typedef {import('zod').input<typeof import('../../dist-modules/definitions/schema/org-settings.js').orgFileSchema>}
 * OrgFile
 */

/**
 * The smallest useful report: a section, a call, a CSV.
 *
 * @type {Readonly<ReportFile>}
 */
export const ONE_CALL = {
  version: 1,
  title: 'One call',
  owner: 'ops@acme.example',
  period: 'previous_month',
  sections: [{ id: 'created', title: 'Profiles', metrics: ['profiles.created'], granularity: 'day' }],
  outputs: [{ format: 'csv' }],
};

/**
 * Creates a folder of definitions, and the environment that `docket start` needs besides REDIS_URL and the service's
 * address.
 *
 * @param {Record<string, { key: string, settings: Partial<OrgFile>, reports: Record<string, ReportFile> }>} orgs by
 * name:
 *   the API key, settings besides the required ones, and reports by name
 */
export async function layOut(orgs) {
  const folder = await mkdtemp(join(tmpdir(), 'docket-bench-'));
  const jobs = join(folder, 'jobs');
  const env = { DOCKET_JOBS: jobs, DOCKET_ARCHIVE: `file://${join(folder, 'archive')}` };
  for (const [name, { key, settings, reports }] of Object.entries(orgs)) {
    const variable = `KEY_${name.toUpperCase().replaceAll('-', '_')}`;
    env[variable] = key;
    await mkdir(join(jobs, name), { recursive: true });
    const org = { org: 'current', api_key: { env: variable }, timezone: 'UTC', recipients: {}, ...settings };
    await writeFile(join(jobs, name, 'org.yaml'), stringify(org));
    for (const [report, file] of Object.entries(reports)) {
      await writeFile(join(jobs, name, `${report}.yaml`), stringify(file));
    }
  }
  return { folder, jobs, env, close: () => rm(folder, { recursive: true, force: true }) };
}

/**
 * Starts `docket start --role …` as delivered; resolves once it runs. Rejects if it ends before, or skips a definition.
 * `said` counts log lines by message; `times` resolves once a message has appeared so often.
 */
export async function startProcess(env, ...role) {
  const began = Date.now();
  const child = spawn(process.execPath, [MAIN, 'start', '--role', ...role], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  // The process must not outlive a failed benchmark.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const said = new Map();
  const waiting = new Set();
  createInterface({ input: child.stderr }).on('line', (text) => {
    const { msg, level } = read(text);
    if (level === 'error') {
      process.stderr.write(`${text}\n`);
      if (msg.startsWith('Skipped: ')) kill();
    }
    said.set(msg, (said.get(msg) ?? 0) + 1);
    for (const waiter of waiting) if ((said.get(waiter.msg) ?? 0) >= waiter.count) waiter.resolve();
  });
  const times = (msg, count) =>
    new Promise((resolve, reject) => {
      if ((said.get(msg) ?? 0) >= count) return resolve(undefined);
      waiting.add({ msg, count, resolve });
      void ended.then((end) => reject(new Error(`docket start ended with ${end}`)));
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
}

/** Parses a log line. Other output is an error that nobody caught. */
function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { msg: text, level: 'error' };
  }
}

/** Processor time of a process and its threads, ms. It does not depend on other load on the machine. */
export async function cpuMsOf(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // User and system time, in ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function memoryMbOf(pid) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}
