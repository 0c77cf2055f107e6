import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';

/**
 * Names what the readings of `SteadyClock.monotonic` of one process may be compared with: those of processes of the same
 * start of the same machine. Where the system does not say which that is, the name is the process's alone.
 */
export function machineId(): string {
  try {
    // A container may have a time namespace of its own, whose monotonic clock has another origin.
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/time')}`;
  } catch {
    return randomUUID();
  }
}
