import type { AppContext } from '../../base/context.ts';
import type { FindProxy } from '../../base/net/proxies.ts';
import type { Catalog } from '../../contract/catalog.ts';
import { checkAllowLists } from '../../definitions/allow-lists/check-allow-lists.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { resolveReportPeriod, resolveRunPeriods } from '../../definitions/periods/period.ts';
import { destinationGuard } from '../../deliver/destination-guard.ts';
import { TARGETS, targetProbe } from '../../deliver/targets/registry.ts';
import { checkPlan } from '../../plan/checks/check-plan.ts';
import { createReportScope, readScopePolicy } from '../../services/definitions/report-scope.ts';
import {
  type CheckResult,
  type Finding,
  fail,
  formatSome,
  ok,
  runCheck,
  warn,
} from '../../services/deployment/probe.ts';
import { BUILT_IN_KINDS } from '../built-in-kinds.ts';
import type { Examination } from './probe-context.ts';

const formatCount = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;

/** Checks the definitions, including against the given catalogs. Makes no call. */
export function checkDefinitions(
  { jobs, now }: Pick<Examination, 'jobs' | 'now'>,
  catalogs: ReadonlyMap<string, Catalog>,
): CheckResult {
  let planErrors = 0;
  for (const definition of jobs.reports.values()) {
    const settings = jobs.orgs.get(definition.org);
    const catalog = catalogs.get(definition.org);
    if (settings === undefined || catalog === undefined) continue;
    planErrors += checkPlan({ definition, settings, ...resolveRunPeriods(definition, settings, now), catalog }).length;
  }
  const { folder, reports, orgs, diagnostics } = jobs;
  const detail = `${formatCount(reports.size, 'report')} of ${formatCount(orgs.size, 'organization')} in ${folder}`;
  const errors = diagnostics.length + planErrors;
  if (errors > 0) return fail(`${detail}, ${formatCount(errors, 'error')}`, '`docket check` shows each with its line.');
  if (reports.size === 0) return fail(detail, '`docket init` creates a first one; DOCKET_JOBS names the folder.');
  return ok(detail);
}

export async function checkTemplateFolder({ context }: Examination): Promise<CheckResult | undefined> {
  const folder = context.config.DOCKET_TEMPLATES;
  if (folder === undefined) return undefined;
  const { checkTemplates } = await import('../../render/check-templates.ts');
  const faults = (await checkTemplates(folder)).length;
  if (faults === 0) return ok(`${folder}, no errors`);
  return fail(`${folder}, ${formatCount(faults, 'error')}`, '`docket check` shows each with its line.');
}

export async function checkReportScope({ jobs, context }: Pick<Examination, 'jobs' | 'context'>): Promise<Finding[]> {
  const { secrets, destinations, ...policy } = readScopePolicy(context);
  const found = await checkAllowLists(jobs, { secrets, destinations, ...policy }, BUILT_IN_KINDS);
  const folders = secrets.allowedFolders.length;
  const open = [...jobs.orgs.values()].filter((org) => org.destinations === undefined).map(({ id }) => id);
  const remedy = '`docket check` shows each with its line.';
  const scope = (): CheckResult => {
    const [refused, allowed] = [found.errors.length, found.warnings.length];
    if (refused > 0) return fail(`${refused} secrets or destinations of reports are refused`, remedy);
    return allowed === 0
      ? ok('every report stays within its organization')
      : warn(`${allowed} secrets or destinations of reports are allowed only by DOCKET_REPORT_SCOPE=warn`, remedy);
  };
  const places = (): CheckResult => {
    if (open.length === 0) return ok('every organization lists its own');
    if (destinations.required) return ok(`required; none, so only e-mail, for: ${formatSome(open)}`);
    return warn(
      `reports may be delivered anywhere: ${formatSome(open)}`,
      'List hosts, buckets and folders under "destinations" in org.yaml; DOCKET_REQUIRE_DESTINATIONS=on requires it.',
    );
  };
  const files =
    folders > 0
      ? ok(`reports may only refer to files in ${folders} ${folders === 1 ? 'folder' : 'folders'}`)
      : warn(
          'a report may refer to any file that this process can read',
          'Set DOCKET_SECRET_FOLDERS to the folders that contain secrets.',
        );
  return [
    { what: 'Scope of reports', ...scope() },
    { what: 'Secret folders', ...files },
    { what: 'Destinations', ...places() },
  ];
}

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
    const used = new Set<string>();
    const findProxy: FindProxy = (url) => {
      const proxy = scope.destinations.findProxy?.(url);
      if (proxy !== undefined) used.add(proxy.name);
      return proxy;
    };
    const period = resolveReportPeriod(definition, settings, clock.now());
    const context = {
      variables: { period, org, report, title, run: 'doctor' },
      secrets: scope.secretsOf(settings),
      allowPrivate: settings.allow_private === true,
      guard: destinationGuard(settings, { ...scope.destinations, findProxy, warn: () => {} }),
      workingDirectory,
    };
    for (const delivery of deliveries) {
      const target = targetProbe(delivery, context, targets);
      const what = `${target?.name} of ${org}`;
      if (target === undefined || probed.has(what)) continue;
      probed.add(what);
      used.clear();
      const tested = async () => {
        const detail = await target.probe();
        return ok(used.size === 0 ? detail : `${detail}, through the proxy ${[...used].join(', ')}`);
      };
      findings.push(await runCheck(what, tested));
    }
  }
  return findings;
}
