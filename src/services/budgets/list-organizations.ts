import { randomUUID } from 'node:crypto';
import { DocketError } from '../../base/error.ts';
import type { Organization } from '../../contract/organization.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import { rateLimitedCall } from '../../fetch/rate-limit/rate-limited-call.ts';
import type { RunPorts } from '../../run/run-context.ts';

/**
 * Every organization that the key reaches. It is a read of the key's owner (600 a minute, specification §8) and costs
 * none of its metrics calls. Throws `api.forbidden` for a key that is limited to a permission, which the service accepts
 * all the same; `api.unauthorized`, `api.unreachable` as every call.
 */
export async function listOrganizations(
  ports: Pick<RunPorts, 'client' | 'reads' | 'key' | 'clock' | 'maxWaitMs'>,
  { id }: Pick<OrgSettings, 'id'>,
  signal: AbortSignal,
): Promise<readonly Organization[]> {
  const { client, reads, key, clock, maxWaitMs } = ports;
  const outcome = await rateLimitedCall(
    { budget: reads, clock, key, org: id, priority: 'on_demand', maxWaitMs, requestTimeoutMs: client.requestTimeoutMs },
    { id: `${randomUUID()}:organizations`, attempt: () => client.organizations(signal), onWait: () => {}, signal },
  );
  if (outcome.kind === 'done') return outcome.value.value;
  throw outcome.kind === 'fail' ? outcome.error : new DocketError('run.cancelled', outcome.why);
}
