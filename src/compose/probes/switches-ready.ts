import { withTimeout } from '../../base/concurrency.ts';
import { toDocketError } from '../../base/error.ts';
import { SECOND_MS } from '../../base/time.ts';
import type { HealthCheck } from '../../services/deployment/probe.ts';

const TIMEOUT_MS = 5 * SECOND_MS;

/**
 * Whether a worker can read a document of the deployment, such as the deny list. Undefined if Redis is the cause, which
 * another check reports.
 *
 * @param what plural, e.g. `stops and legal holds`
 */
export async function checkReadable(
  what: string,
  document: { readonly read: () => Promise<unknown> },
): Promise<Omit<HealthCheck, 'name'> | undefined> {
  const error = await withTimeout(
    document.read().then(() => undefined, toDocketError),
    TIMEOUT_MS,
    () => 'timeout' as const,
  );
  if (error === undefined) return { ok: true, detail: `${what} can be read` };
  if (error !== 'timeout' && error.code !== 'switch.unreadable') return undefined;
  return { ok: false, detail: `${what} cannot be read from the archive` };
}
