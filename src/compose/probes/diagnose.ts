import { DocketError, toDocketError } from '../../base/error.ts';
import { silentLog } from '../../base/log.ts';
import { findProxyBy } from '../../base/net/proxies.ts';
import { secretSource } from '../../base/secrets/secret.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { openRedis, redisAddress } from '../../redis/connection.ts';
import { DEFAULT_KEY_PREFIX } from '../../redis/keys.ts';
import { assertSuitable } from '../../redis/server-check.ts';
import type { Finding } from '../../services/deployment/probe.ts';
import { type DocketContext, findSignIn } from '../feature.ts';
import { hasRedis } from '../redis.ts';
import { checkApi } from './api.ts';
import { checkApiKeys } from './api-keys.ts';
import type { DiagnoseOptions, Probe } from './probe-context.ts';
import { collectProbes, examine } from './probes.ts';

/**
 * Checks everything that `docket start` needs. Sends nothing, and without `fetchCatalogs` uses no metrics call. A failed
 * check does not stop the others. Throws only the signal's reason.
 */
export async function diagnose(
  jobs: Definitions,
  context: DocketContext,
  options: DiagnoseOptions,
  chosen: (probe: Probe) => boolean = () => true,
): Promise<readonly Finding[]> {
  const { config, clock } = context;
  const { known = new Map<string, Catalog>(), signal } = options;
  const opened = await openRedis(redisAddress(context), 'producer', silentLog).catch(toDocketError);
  const redis = opened instanceof DocketError ? undefined : opened;
  const server = opened instanceof DocketError ? opened : await assertSuitable(opened, silentLog).catch(toDocketError);
  const once = <T>(look: () => Promise<T>): (() => Promise<T>) => {
    let result: Promise<T> | undefined;
    return () => (result ??= look());
  };
  const api = once(() =>
    checkApi(config.COMPLIANCE_API_URL, clock, signal, findProxyBy(config, secretSource(context.env, context))),
  );
  const keys = once(async () => {
    // If the service is unreachable, the check of each key would fail again.
    if ((await api()).some(({ what, state }) => what === 'API' && state === 'fail'))
      return { findings: [], catalogs: known };
    const usable = hasRedis(context) && !(server instanceof DocketError) ? redis : undefined;
    return checkApiKeys(jobs, context, { ...options, redis: usable });
  });
  try {
    const at = {
      context,
      signIn: findSignIn(context),
      jobs,
      clock,
      now: clock.now(),
      signal,
      prefix: DEFAULT_KEY_PREFIX,
      started: false,
      redis,
      server,
      api,
      keys,
    };
    return await examine(at, collectProbes(context.features).filter(chosen));
  } finally {
    redis?.disconnect();
  }
}
