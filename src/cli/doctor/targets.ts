import type { Surroundings } from '../../compose/ports.ts';
import { reportScope } from '../../compose/report-scope.ts';
import type { Jobs } from '../../define/load.ts';
import { periodOf } from '../../define/period.ts';
import { destinationGuard } from '../../deliver/destination-guard.ts';
import { targetProbe } from '../../deliver/probe-targets.ts';
import { examine, type Finding, ok } from './finding.ts';

/** Every place that a delivery would write to or call, once for each organization; nothing is left behind. */
export async function examineTargets(jobs: Jobs, around: Surroundings): Promise<Finding[]> {
  const { clock, workingDirectory = process.cwd() } = around;
  const scope = reportScope(around, () => jobs.orgs);
  const findings: Finding[] = [];
  const tried = new Set<string>();
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
      const target = targetProbe(delivery, context);
      const what = `${target?.name} of ${org}`;
      if (target === undefined || tried.has(what)) continue;
      tried.add(what);
      findings.push(await examine(what, async () => ok(await target.probe())));
    }
  }
  return findings;
}
