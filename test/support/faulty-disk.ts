import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import './disk-faults.mjs';

export type DiskFaultCode = 'ENOSPC' | 'EDQUOT' | 'EIO' | 'EROFS';

/** The value of `--import` for a child process. */
export const DISK_FAULTS_PRELOAD = fileURLToPath(new URL('./disk-faults.mjs', import.meta.url));

/** A disk that a test breaks and repairs: in this process after a call of `here`, or in a child process with `env`. */
export function faultyDisk(onEnd: (cleanUp: () => void) => void) {
  const own = mkdtempSync(join(tmpdir(), 'docket-disk-'));
  const control = join(own, 'faults');
  onEnd(() => {
    delete process.env.DISK_FAULTS_FILE;
    rmSync(own, { recursive: true, force: true });
  });
  return {
    /** For a child process, including its threads. */
    env: { DISK_FAULTS_FILE: control, NODE_OPTIONS: `--import=${DISK_FAULTS_PRELOAD}` },
    here: () => {
      process.env.DISK_FAULTS_FILE = control;
    },
    breaks: (code: DiskFaultCode, folder: string) => writeFileSync(control, `${code} ${folder}\n`),
    mends: () => writeFileSync(control, ''),
  };
}
