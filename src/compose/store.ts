import type { AppContext } from '../base/context.ts';
import type { Scope } from '../base/scope.ts';
import { noTrace, type Trace } from '../base/trace.ts';
import { type ClientRole, openRedis, redisAddress } from '../redis/connection.ts';
import { withRedisErrors } from '../redis/errors.ts';
import { redisKeys } from '../redis/keys.ts';
import { assertSuitable } from '../redis/server-check.ts';
import { type TriggerRun, triggerRun } from '../services/runs/trigger-run.ts';
import { composeFindDelivered } from './archive.ts';
import { commandAuditLog, type DeploymentSettings, openDeployment } from './deployment.ts';
import { withPrivateRedis } from './redis.ts';

/** The deployment, over a client that fails fast while Redis is unreachable because a user is waiting. */
export type Store = Awaited<ReturnType<typeof openStore>>;

export interface StoreSettings extends Pick<DeploymentSettings, 'prefix' | 'writes' | 'auditLog' | 'orgs'> {
  /** Rejects a Redis that may lose data, instead of warning. */
  readonly requireDurable?: boolean;
}

/** Opens the store until the scope closes. Throws `redis.unreachable`, `redis.unsuitable`. */
export async function openStore(
  context: AppContext,
  { requireDurable = false, ...settings }: StoreSettings,
  scope: Scope,
) {
  const { clock, log, trace } = context;
  const client = async (role: ClientRole) =>
    scope.use(await openRedis(redisAddress(context), role, log), (opened) => opened.disconnect());
  const redis = await client('producer');
  await assertSuitable(redis, log, { requireDurable });
  const deployment = openDeployment(context, { ...settings, redis, search: { clock } }, scope);
  const ports = { ...deployment, findDelivered: composeFindDelivered(context, deployment, scope) };
  return {
    ...deployment,
    trigger: traceTrigger(trace, (request) => triggerRun(request, ports)),
    /** Throws `redis.unreachable`. */
    ping: async () => {
      // Reads a key with the prefix. In a Cluster, this reaches the master that has Docket's keys.
      await withRedisErrors(redis, () => redis.exists(redisKeys(deployment.prefix).unfinished));
    },
    /** Opens a client that waits while Redis restarts, for running runs. The scope closes it. */
    blockingClient: () => client('worker'),
  };
}

/** Starts or continues the trace of a run. */
const traceTrigger =
  (trace: Trace = noTrace, open: TriggerRun): TriggerRun =>
  (request) => {
    const { org, report } = request.definition;
    return trace.span(
      { name: 'trigger', kind: 'producer', org, report, trigger: request.trigger },
      async (setAttributes) => {
        const triggered = await open(request);
        setAttributes({
          run: triggered.record.id,
          slot: triggered.record.slot,
          state: triggered.opened ? 'opened' : 'repeated',
        });
        return triggered;
      },
    );
  };

/**
 * The store for a command that enqueues runs. Throws `deployment.conflict` if Redis and the archive belong to different
 * deployments; a machine without the archive can still enqueue. Throws `redis.unreachable`, `redis.unsuitable`.
 */
export async function openVerifiedStore(given: AppContext, scope: Scope): Promise<Store> {
  const context = await withPrivateRedis(given, scope);
  const store = await openStore(context, { writes: false, auditLog: commandAuditLog(context) }, scope);
  await store.identity.start();
  return store;
}
