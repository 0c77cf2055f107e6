import { randomUUID } from 'node:crypto';
import { DocketError } from '../base/error.ts';
import type { Organization } from '../contract/organization.ts';
import type { OrgSettings } from '../define/org.ts';
import { paidCall } from '../fetch/paid-call.ts';
import type { RunPorts } from '../run/ports.ts';

/**
 * Every organization that the key reaches. It is a read of the key's owner (600 a minute, specification §8) and costs
 * none of its metrics calls. Throws `api.forbidden` for a key that is limited to a permission, which the service accepts
 * all the same; `api.unauthorized`, `api.unreachable` as every call.
 */
export async function organizationsOf(
  ports: Pick<RunPorts, 'client' | 'reads' | 'key' | 'clock' | 'patienceMs'>,
  { id }: Pick<OrgSettings, 'id'>,
  signal: AbortSignal,
): Promise<readonly Organization[]> {
  const { client, reads, key, clock, patienceMs } = ports;
  const outcome = await paidCall(
    { budget: reads, clock, key, org: id, priority: 'on_demand', patienceMs, deadlineMs: client.deadlineMs },
    { id: `${randomUUID()}:organizations`, attempt: () => client.organizations(signal), waiting: () => {}, signal },
  );
  if (outcome.kind === 'done') return outcome.value.value;
  throw outcome.kind === 'fail' ? outcome.error : new DocketError('run.cancelled', outcome.why);
}
