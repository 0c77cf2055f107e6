import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Length of a clock tick in `/proc/<pid>/stat`: USER_HZ is 100 on every system that Node.js supports. */
const TICK_MS = 10;

export interface ProcessUsage {
  /** Processor time of all its threads. */
  readonly cpuMs: number;
  /** Resident. */
  readonly memoryMb: number;
}

/** What a process has used so far; undefined when it has ended or the system does not tell. */
export async function processUsage(pid: number): Promise<ProcessUsage | undefined> {
  try {
    if (process.platform === 'win32') return undefined;
    return process.platform === 'linux' ? await readProc(pid) : await askPs(pid);
  } catch {
    return undefined;
  }
}

/** proc(5): the second field is the name in brackets, `utime` and `stime` are fields 14 and 15. */
async function readProc(pid: number): Promise<ProcessUsage | undefined> {
  const [status, stat] = await Promise.all([
    readFile(`/proc/${pid}/status`, 'utf8'),
    readFile(`/proc/${pid}/stat`, 'utf8'),
  ]);
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return kilobytes === undefined
    ? undefined
    : { cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS, memoryMb: Number(kilobytes) / 1024 };
}

/** The time is `[[days-]hours:]minutes:seconds`. */
async function askPs(pid: number): Promise<ProcessUsage> {
  const { stdout } = await run('/bin/ps', ['-o', 'rss=,time=', '-p', String(pid)]);
  const [kilobytes, time = ''] = stdout.trim().split(/\s+/);
  const parts = time.split(/[-:]/).map(Number).reverse();
  const seconds = [1, 60, 3600, 86_400].reduce((sum, unit, index) => sum + unit * (parts[index] ?? 0), 0);
  return { cpuMs: seconds * 1000, memoryMb: Number(kilobytes) / 1024 };
}
