import type { Surroundings } from '../../compose/ports.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { Jobs } from '../../define/load.ts';
import { examineTokens } from './admin.ts';
import { examineApi } from './api.ts';
import { examineArchive } from './archive.ts';
import { examineBudgetSettings } from './budgets.ts';
import { examineDefinitions, examineTemplates } from './definitions.ts';
import { type Finding, fail } from './finding.ts';
import { examineIdentity } from './identity.ts';
import { examineKeys } from './keys.ts';
import { examineMail } from './mail.ts';
import { examineRedis } from './redis.ts';
import { examineRuntime } from './runtime.ts';
import { examineSchedules } from './schedules.ts';
import { examineScope } from './scope.ts';
import { examineTargets } from './targets.ts';

export interface Diagnosis {
  /** Asks each organization's catalog, which costs its key one metrics call. */
  readonly askCatalogs: boolean;
  /** Catalogs that are held already, by organization. */
  readonly known?: ReadonlyMap<string, Catalog>;
  readonly signal: AbortSignal;
}

/**
 * Everything that `docket start` needs, tried: nothing is sent and, unless the catalogs are asked for, no metrics call is
 * spent. One broken part hides no other. Throws the signal's reason alone.
 */
export async function diagnose(jobs: Jobs, around: Surroundings, options: Diagnosis): Promise<readonly Finding[]> {
  const { config, env, clock } = around;
  const now = clock.now();
  const zones = [...jobs.orgs.values()].map(({ timezone }) => timezone);
  const { findings: ofRedis, redis } = await examineRedis(around);
  try {
    const named = Boolean(env.REDIS_URL?.trim());
    const url = config.COMPLIANCE_API_URL;
    const api = url === undefined ? [NO_URL] : await examineApi(url, clock, options.signal);
    // Whoever cannot be reached is not asked again for each key.
    const reached = url !== undefined && api.every(({ state, what }) => what !== 'API' || state !== 'fail');
    const { findings: ofKeys, catalogs } = reached
      ? await examineKeys(jobs, around, { ...options, redis: named ? redis : undefined })
      : { findings: [], catalogs: options.known ?? new Map<string, Catalog>() };
    const { DOCKET_TEMPLATES: templates, DOCKET_ADMIN_TOKENS: tokens } = config;
    const findings = [...examineRuntime(zones, now), ...ofRedis, examineDefinitions(jobs, catalogs, now)];
    findings.push(...(await examineBudgetSettings(jobs, around)));
    findings.push(...(await examineScope(jobs, around)));
    if (templates !== undefined) findings.push(await examineTemplates(templates));
    findings.push(...api, ...ofKeys);
    const rest: readonly (() => Promise<readonly Finding[]>)[] = [
      () => examineMail(jobs, around),
      () => examineTargets(jobs, around),
      async () => {
        const identity = await examineIdentity(around, redis);
        // Not even a trial is written into what may be a bare mount point.
        return identity.state === 'fail' ? [identity] : [identity, ...(await examineArchive(around))];
      },
      async () => (tokens === undefined ? [] : [await examineTokens(tokens, now)]),
      async () => (redis === undefined ? [] : examineSchedules(jobs, redis, now)),
    ];
    for (const examine of rest) {
      options.signal.throwIfAborted();
      findings.push(...(await examine()));
    }
    return findings;
  } finally {
    redis?.disconnect();
  }
}

const NO_URL: Finding = {
  what: 'API',
  ...fail('COMPLIANCE_API_URL is not set', 'Set COMPLIANCE_API_URL to the base URL of the Compliance Service.'),
};
