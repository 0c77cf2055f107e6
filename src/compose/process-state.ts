import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { version } from '../base/context.ts';
import { DAY_MS } from '../base/time.ts';
import type { DefinitionSource } from '../definitions/load/definition-source.ts';
import type { Definitions } from '../definitions/load/load-definitions.ts';
import type { ProcessFailure, ProcessReport, ProcessReports } from '../queue/process-reports.ts';
import type { Finding, HealthCheck } from '../services/deployment/probe.ts';

/** A hash that is equal for equal definitions and settings. */
function definitionsDigest({ reports, orgs }: Pick<Definitions, 'reports' | 'orgs'>): string {
  const names = [...reports].map(([name, { digest }]) => `${name} ${digest}`).sort();
  const settings = [...orgs].map(([name, of]) => `${name} ${JSON.stringify(of)}`).sort();
  return createHash('sha256')
    .update(JSON.stringify([names, settings]))
    .digest('hex')
    .slice(0, 16);
}

/**
 * Checks of `/readyz` that others do not need from here: readers of the page see them elsewhere, or they cannot be
 * stored without Redis.
 */
const OWN_PROBES: ReadonlySet<string> = new Set(['redis', 'redis_writes']);

/**
 * Publishes the state of this process, so that the page of any process shows what fails in each.
 * @returns a function that stores the state; `now` is epoch ms
 */
export function processState(
  {
    self,
    roles,
    jobs,
    started,
    concurrency,
  }: Pick<ProcessReport, 'self' | 'started' | 'concurrency'> & {
    readonly roles: Iterable<string>;
    readonly jobs: DefinitionSource;
  },
  store: ProcessReports,
) {
  const since = new Map<string, number>();
  let digested: { readonly of: Definitions; readonly digest: string } | undefined;
  return async (checks: readonly HealthCheck[], findings: readonly Finding[], now: number): Promise<void> => {
    const current = jobs.current();
    if (digested?.of !== current) digested = { of: current, digest: definitionsDigest(current) };
    const failures = [
      ...checks
        .filter(({ name, ok }) => !ok && !OWN_PROBES.has(name))
        .map(({ name, detail = '', remedy }) => ({ name, detail, ...(remedy === undefined ? {} : { remedy }) })),
      ...findings
        .filter(({ state, problem }) => state === 'fail' || problem !== undefined)
        .map(({ what, detail, remedy, problem, affects }) => ({
          name: what,
          detail,
          ...(remedy === undefined ? {} : { remedy }),
          ...(problem === undefined ? {} : { problem }),
          ...(affects === undefined ? {} : { affects }),
        })),
    ];
    for (const name of since.keys()) if (!failures.some((failure) => failure.name === name)) since.delete(name);
    for (const { name } of failures) since.set(name, since.get(name) ?? now);
    const { size: reports } = current.reports;
    await store.put({
      self,
      host: hostname(),
      roles: [...roles],
      ...(concurrency === undefined ? {} : { concurrency }),
      version: version(),
      started,
      at: now,
      definitions: { digest: digested.digest, reports, unreadable: jobs.unreadable?.() ?? null },
      failing: failures.map((failure): ProcessFailure => ({ ...failure, since: since.get(failure.name) ?? now })),
    });
    // The most reports that any process had within a day. If a folder is emptied, this process has fewer, even after a
    // restart.
    const peak = await store.peak();
    if (peak === undefined || reports >= peak.reports) await store.putPeak({ reports, at: now }, DAY_MS);
  };
}
