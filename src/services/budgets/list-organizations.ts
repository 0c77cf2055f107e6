import { randomUUID } from 'node:crypto';
import { DocketError } from '../../base/error.ts';
import type { Organization } from '../../contract/organization.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import { rateLimitedCall } from '../../fetch/rate-limit/rate-limited-call.ts';
import type { RunPorts } from '../../run/run-context.ts';

/**
 * Lists all organizations that the API key can access. Uses the budget of list reads (600 per minute, specification
 * §8). Throws `api.forbidden` for a key with restricted permissions, even if other calls accept it; `api.unauthorized`,
 * `api.unreachable`.
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
