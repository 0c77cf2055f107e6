import type { AppContext } from '../../base/context.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { periodOf } from '../../definitions/periods/period.ts';
import { destinationGuard } from '../../deliver/destination-guard.ts';
import { TARGETS, targetProbe } from '../../deliver/targets/registry.ts';
import { createReportScope } from '../../services/definitions/report-scope.ts';
import { type Finding, ok, runCheck } from '../../services/deployment/probe.ts';
import { BUILT_IN_KINDS } from '../built-in-kinds.ts';

/** Probes every target once per organization. Leaves nothing behind. */
export async function checkTargets(
  jobs: Pick<Definitions, 'orgs' | 'reports'>,
  context: AppContext,
  targets = TARGETS,
): Promise<Finding[]> {
  const { clock, workingDirectory = process.cwd() } = context;
  const scope = createReportScope(context, () => jobs.orgs, BUILT_IN_KINDS);
  const findings: Finding[] = [];
  const probed = new Set<string>();
  for (const definition of jobs.reports.values()) {
    const { org, report, title, deliveries } = definition;
    const settings = jobs.orgs.get(org);
    if (settings === undefined) continue;
    const period = periodOf(definition, settings, clock.now());
    const context = {
      variables: { period, org, report, title, run: 'doctor' },
      secrets: scope.secretsOf(settings),
      allowPrivate: settings.allow_private === true,
      guard: destinationGuard(settings, { ...scope.destinations, warn: () => {} }),
      workingDirectory,
    };
    for (const delivery of deliveries) {
      const target = targetProbe(delivery, context, targets);
      const what = `${target?.name} of ${org}`;
      if (target === undefined || probed.has(what)) continue;
      probed.add(what);
      findings.push(await runCheck(what, async () => ok(await target.probe())));
    }
  }
  return findings;
}
