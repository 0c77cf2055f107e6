import type { Command } from 'commander';
import type { AppContext } from '../../../base/context.ts';
import type { Catalog } from '../../../contract/catalog.ts';
import type { Diagnostic } from '../../../definitions/diagnostics/diagnostic.ts';
import type { Definitions } from '../../../definitions/load/load-definitions.ts';
import type { Definition } from '../../../definitions/schema/report-definition.ts';

export function addCheckCommand(program: Command): void {
  program
    .command('check')
    .description('Validate the saved reports and your own templates: every fault at once, as file:line:column')
    .argument('[paths...]', 'files or folders below DOCKET_JOBS; all of it when absent')
    .option('--offline', 'leave out the organizations’ metric catalogs')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
A warning is what a later version refuses: a secret or a destination beyond the report's organization (docs/targets.md).

Environment: DOCKET_JOBS, DOCKET_TEMPLATES, DOCKET_SECRET_FOLDERS, DOCKET_REQUIRE_DESTINATIONS, DOCKET_REPORT_SCOPE, LOG_LEVEL;
without --offline also COMPLIANCE_API_URL, REDIS_URL and the organizations' keys

Exit codes: 0 no fault, warnings are allowed; 1 faults; 2 usage or configuration

Examples:
  docket check                         everything, against the catalogs that can be reached
  docket check --offline               without calling the API
  docket check jobs/acme/weekly.yaml   one report`,
    )
    .action(check);
}

async function check(paths: string[], options: { offline?: boolean; json?: boolean }): Promise<void> {
  const [
    { createContext },
    { startReaderThread },
    { BUILT_IN_KINDS, loadDefinitions },
    { selectDiagnostics, reportSelector },
    { comparePositions, formatDiagnostic },
    { readScopePolicy },
    { checkAllowLists },
    print,
  ] = await Promise.all([
    import('../../context.ts'),
    import('../../../services/definitions/definition-threads.ts'),
    import('../../../services/definitions/built-in-kinds.ts'),
    import('../../../definitions/load/path-selection.ts'),
    import('../../../definitions/diagnostics/diagnostic.ts'),
    import('../../../services/definitions/report-scope.ts'),
    import('../../../definitions/allow-lists/check-allow-lists.ts'),
    import('../../terminal/print.ts'),
  ]);
  const around = createContext();
  const thread = startReaderThread({ clock: around.clock, positions: true });
  const jobs = await loadDefinitions(around.config.DOCKET_JOBS, { parser: thread.reader }).finally(() =>
    thread.close(),
  );
  const budgets = await budgetDiagnostics(jobs, around);
  const scope = await checkAllowLists(jobs, readScopePolicy(around), BUILT_IN_KINDS);
  const faults = await selectDiagnostics(
    { ...jobs, diagnostics: [...jobs.diagnostics, ...budgets, ...scope.errors] },
    paths,
  );
  const warnings = await selectDiagnostics({ ...jobs, diagnostics: scope.warnings }, paths);
  // A mail that cannot be made concerns every report, whichever was named.
  faults.push(...(await templateDiagnostics(around.config.DOCKET_TEMPLATES)));
  const unchecked: string[] = [];
  if (!options.offline) {
    const chosen = await reportSelector(jobs, paths);
    const reports = [...jobs.reports.values()].filter(chosen);
    faults.push(...(await catalogDiagnostics(reports, jobs, around, (why) => unchecked.push(why))));
    faults.sort(comparePositions);
  }
  for (const why of unchecked) print.printStatus(`not checked against the catalog: ${why}`);
  const files = jobs.sources.size;
  if (options.json) print.printJson({ files, faults, warnings, not_checked: unchecked });
  else {
    for (const fault of faults) print.printLine(formatDiagnostic(fault));
    for (const fault of warnings) print.printLine(`warning: ${formatDiagnostic(fault)}`);
    const found = [`${files} files`, formatCount(faults.length, 'fault')];
    if (warnings.length > 0) found.push(`${formatCount(warnings.length, 'warning')}: a later version refuses these`);
    print.printStatus(found.join(', '));
  }
  process.exitCode = faults.length === 0 ? 0 : 1;
}

const formatCount = (count: number, what: string): string =>
  count === 0 ? `no ${what}s` : `${count} ${count === 1 ? what : `${what}s`}`;

async function templateDiagnostics(folder: string | undefined): Promise<Diagnostic[]> {
  if (folder === undefined) return [];
  const { checkEmailTemplates } = await import('../../../render/email/check-templates.ts');
  return checkEmailTemplates(folder);
}

/** Organizations that share an API key have one budget: each `org.yaml` that takes part in a conflict has a fault. */
async function budgetDiagnostics(jobs: Definitions, around: AppContext): Promise<Diagnostic[]> {
  const [{ budgetConflicts, BUDGET_CONFLICT_HINT, budgetLimits }, { secretSource }, { locate }] = await Promise.all([
    import('../../../services/budgets/key-limits.ts'),
    import('../../../base/secrets/secret.ts'),
    import('../../../definitions/yaml/source-file.ts'),
  ]);
  const conflicts = await budgetConflicts(jobs.orgs.values(), secretSource(around.env, around));
  return conflicts.flatMap(({ organizations, message }) =>
    organizations.flatMap((org): Diagnostic[] => {
      const [source, settings] = [jobs.sources.get(org), jobs.orgs.get(org)];
      if (source === undefined || settings === undefined) return [];
      const { calls, windowMs } = budgetLimits(settings);
      return [
        {
          file: source.file,
          ...locate(source, ['budget']),
          message: message.replace(/\.$/, ''),
          expected: 'one budget for all organizations of the key',
          got: `${calls} calls in ${windowMs / 1000} s`,
          next: BUDGET_CONFLICT_HINT,
        },
      ];
    }),
  );
}

/** Asks each organization's catalog once. One that cannot be asked is said, and is no fault of the files. */
async function catalogDiagnostics(
  reports: readonly Definition[],
  jobs: Definitions,
  around: AppContext,
  unchecked: (why: string) => void,
): Promise<Diagnostic[]> {
  if (reports.length === 0) return [];
  if (around.config.COMPLIANCE_API_URL === undefined) {
    unchecked('COMPLIANCE_API_URL is not set');
    return [];
  }
  const [
    { composeCatalogs },
    { toDocketError },
    { periodOf },
    { RECENT_CATALOG_MAX_AGE_MS },
    { checkPlan },
    { locate },
  ] = await Promise.all([
    import('../../../compose/run-ports.ts'),
    import('../../../base/error.ts'),
    import('../../../definitions/periods/period.ts'),
    import('../../../fetch/cache/catalog-cache.ts'),
    import('../../../plan/check-plan.ts'),
    import('../../../definitions/yaml/source-file.ts'),
  ]);
  const opened = await composeCatalogs(around, { orgs: jobs.orgs }).catch((thrown: unknown) => {
    const { message, next = '' } = toDocketError(thrown);
    unchecked(`${message} ${next}`.trim());
  });
  if (opened === undefined) return [];
  const { catalogOf, scope } = opened;
  try {
    const faults: Diagnostic[] = [];
    for (const org of new Set(reports.map((report) => report.org))) {
      const settings = jobs.orgs.get(org);
      if (settings === undefined) continue;
      try {
        const faultsBy = (catalog: Catalog): Diagnostic[] =>
          reports.flatMap((report) => {
            const source = report.org === org ? jobs.sources.get(`${org}/${report.report}`) : undefined;
            if (source === undefined) return [];
            // Periods of one name differ by days from run to run: a run of now stands for those to come.
            const period = periodOf(report, settings, around.clock.now());
            return checkPlan({ definition: report, period, catalog }).map(({ path, expected, got, next }) => ({
              file: source.file,
              ...locate(source, path),
              expected,
              got,
              next,
            }));
          });
        const found = faultsBy(await catalogOf(settings));
        // A held catalog may lack what the organization has since.
        faults.push(...(found.length === 0 ? [] : faultsBy(await catalogOf(settings, RECENT_CATALOG_MAX_AGE_MS))));
      } catch (thrown) {
        unchecked(`${org}: ${toDocketError(thrown).message}`);
      }
    }
    return faults;
  } finally {
    await scope.close();
  }
}
