import { withTimeout } from '../../base/concurrency.ts';
import { toDocketError } from '../../base/error.ts';
import { SECOND_MS } from '../../base/time.ts';
import type { HealthCheck } from '../../services/deployment/probe.ts';
import type { Switches } from '../../services/switches/switch-service.ts';

const TIMEOUT_MS = 5 * SECOND_MS;

/** Whether a worker can read what is stopped and held; undefined where Redis is the cause, which another check tells. */
export async function checkReadable(switches: Pick<Switches, 'read'>): Promise<Omit<HealthCheck, 'name'> | undefined> {
  const error = await withTimeout(
    switches.read().then(() => undefined, toDocketError),
    TIMEOUT_MS,
    () => 'timeout' as const,
  );
  if (error === undefined) return { ok: true, detail: 'stops and legal holds can be read' };
  if (error !== 'timeout' && error.code !== 'switch.unreadable') return undefined;
  return { ok: false, detail: 'stops and legal holds cannot be read from the archive' };
}
