import type { AppContext } from '../base/context.ts';
import { type Scope, withScope } from '../base/scope.ts';
import { MINUTE_MS } from '../base/time.ts';
import { openRedis, redisAddress } from '../redis/connection.ts';
import { createCorrectionService } from '../services/corrections/correction-service.ts';
import { createDecisionService } from '../services/deliveries/decisions.ts';
import { createRecipientService } from '../services/deliveries/recipients.ts';
import { createReviewService } from '../services/reviews/create-review-service.ts';
import { commandAuditLog, type DeploymentSettings, openDelivering, openDeployment } from './deployment.ts';
import { withPrivateRedis } from './redis.ts';

/** A command waits longer for missing search indexes than a page does. */
const MAX_INDEX_WAIT_MS = 5 * MINUTE_MS;

/** What a command needs to inspect deliveries and to decide about them. */
export type DecisionContext = Awaited<ReturnType<typeof openDecisions>>;

export interface DecisionSettings extends Pick<DeploymentSettings, 'orgs'> {
  /** Whether the command changes deliveries. If so, it throws `deployment.conflict` before any change. */
  readonly decides?: boolean;
}

/** Opens runs and deliveries in `REDIS_URL` or in a private Redis while `use` runs. Throws `redis.unreachable`. */
export const withDecisions = <T>(
  context: AppContext,
  use: (decisions: DecisionContext) => Promise<T>,
  settings: DecisionSettings = {},
): Promise<T> => withScope(async (scope) => use(await openDecisions(context, settings, scope)));

async function openDecisions(given: AppContext, { decides = false, orgs }: DecisionSettings, scope: Scope) {
  const context = await withPrivateRedis(given, scope, 'kept');
  const { clock, log } = context;
  const redis = scope.use(await openRedis(redisAddress(context), 'producer', log), (opened) => opened.disconnect());
  const search = { clock, maxWaitMs: MAX_INDEX_WAIT_MS };
  const deployment = openDeployment(context, { redis, orgs, search, auditLog: commandAuditLog(context) }, scope);
  const { endAbandoned, findDelivered } = openDelivering(context, deployment, scope);
  if (decides) await deployment.identity.id();
  // A private Redis has no worker that would end abandoned runs.
  if (decides || context.redis) await endAbandoned();
  return {
    ...deployment,
    reviewService: createReviewService(deployment, findDelivered),
    decisions: createDecisionService(deployment),
    recipients: createRecipientService(deployment),
    correctionService: createCorrectionService(deployment),
  };
}
