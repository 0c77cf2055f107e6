import type { AppContext } from '../../base/context.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { loadDefinitions } from '../../services/definitions/built-in-kinds.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';
import { checkAdminTokens } from './admin-tokens.ts';
import { checkApi } from './api.ts';
import { checkApiKeys, checkBudgetSettings } from './api-keys.ts';
import { checkArchive } from './archive.ts';
import { type Finding, fail, formatFinding } from './finding.ts';
import { checkDeploymentIdentity } from './identity.ts';
import { checkMailServers } from './mail.ts';
import { checkRedis } from './redis.ts';
import { checkApprovers } from './reports/approvers.ts';
import { checkDefinitions, checkTemplateFolder } from './reports/definitions.ts';
import { checkReadings } from './reports/readings.ts';
import { checkReportScope } from './reports/report-scope.ts';
import { checkSchedules } from './reports/schedules.ts';
import { checkTargets } from './reports/targets.ts';
import { checkRuntime } from './runtime.ts';
import { checkSignIn } from './sign-in.ts';

export async function doctor(
  flags: { readonly catalog?: boolean; readonly json?: boolean },
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const context = createContext(io);
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS);
  const findings = await diagnose(jobs, context, { askCatalogs: flags.catalog ?? false, signal: io.signals.stop() });
  if (flags.json) print.printJson({ findings });
  else for (const finding of findings) print.printText(formatFinding(finding));
  const failed = findings.filter(({ state }) => state === 'fail').length;
  if (!flags.json && failed > 0) {
    print.printNext([
      {
        command: 'docket doctor',
        why: `again, when ${failed === 1 ? 'the failure is' : `the ${failed} failures are`} corrected`,
      },
    ]);
  }
  io.exitCode = failed > 0 ? 1 : 0;
}

export interface DiagnoseOptions {
  /** Fetches each organization's catalog: one metrics call per key. */
  readonly askCatalogs: boolean;
  /** Catalogs that the caller has already, by organization. */
  readonly known?: ReadonlyMap<string, Catalog>;
  readonly signal: AbortSignal;
}

/**
 * Checks everything that `docket start` needs. Sends nothing and, without `askCatalogs`, spends no metrics call. A failed
 * check does not stop the others. Throws only the signal's reason.
 */
export async function diagnose(
  jobs: Definitions,
  context: AppContext,
  options: DiagnoseOptions,
): Promise<readonly Finding[]> {
  const { config, env, clock } = context;
  const now = clock.now();
  const zones = [...jobs.orgs.values()].map(({ timezone }) => timezone);
  const { findings: ofRedis, redis } = await checkRedis(context);
  try {
    const named = Boolean(env.REDIS_URL?.trim());
    const url = config.COMPLIANCE_API_URL;
    const api = url === undefined ? [API_URL_MISSING] : await checkApi(url, clock, options.signal);
    // An unreachable service would fail for each key again.
    const reached = url !== undefined && api.every(({ state, what }) => what !== 'API' || state !== 'fail');
    const { findings: ofKeys, catalogs } = reached
      ? await checkApiKeys(jobs, context, { ...options, redis: named ? redis : undefined })
      : { findings: [], catalogs: options.known ?? new Map<string, Catalog>() };
    const { DOCKET_TEMPLATES: templates, DOCKET_ADMIN_TOKENS: tokens } = config;
    const findings = [...checkRuntime(zones, now), ...ofRedis, checkDefinitions(jobs, catalogs, now)];
    findings.push(...(await checkBudgetSettings(jobs, context)));
    findings.push(...(await checkReportScope(jobs, context)));
    if (templates !== undefined) findings.push(await checkTemplateFolder(templates));
    findings.push(...api, ...ofKeys);
    const rest: readonly (() => Promise<readonly Finding[]>)[] = [
      () => checkMailServers(jobs, context),
      () => checkTargets(jobs, context),
      async () => {
        const identity = await checkDeploymentIdentity(context, redis);
        // The folder may be an empty mount point: write nothing into it.
        return identity.state === 'fail'
          ? [identity]
          : [identity, ...(await checkArchive(context, jobs)), ...(await checkReadings(jobs, context))];
      },
      async () => (tokens === undefined ? [] : [await checkAdminTokens(tokens, now)]),
      () => checkSignIn(context),
      () => checkApprovers(jobs, context),
      async () => (redis === undefined ? [] : checkSchedules(jobs, redis, now)),
    ];
    for (const check of rest) {
      options.signal.throwIfAborted();
      findings.push(...(await check()));
    }
    return findings;
  } finally {
    redis?.disconnect();
  }
}

const API_URL_MISSING: Finding = {
  what: 'API',
  ...fail('COMPLIANCE_API_URL is not set', 'Set COMPLIANCE_API_URL to the base URL of the Compliance Service.'),
};
