import type { Command } from 'commander';
import type { Surroundings } from '../compose/ports.ts';
import type { Catalog } from '../contract/catalog.ts';
import type { Definition } from '../define/definition.ts';
import type { Fault } from '../define/fault.ts';
import type { Jobs } from '../define/load.ts';

export function addCheck(program: Command): void {
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
    { readSurroundings },
    { readingThread },
    { loadJobs },
    { checkJobs, isChosen },
    { byPosition, formatFault },
    { scopePolicy },
    { scopeFaults },
    print,
  ] = await Promise.all([
    import('./surroundings.ts'),
    import('../compose/definition-threads.ts'),
    import('../define/load.ts'),
    import('../define/check.ts'),
    import('../define/fault.ts'),
    import('../compose/report-scope.ts'),
    import('../define/scope-faults.ts'),
    import('./print.ts'),
  ]);
  const around = readSurroundings();
  const thread = readingThread({ clock: around.clock, positions: true });
  const jobs = await loadJobs(around.config.DOCKET_JOBS, { reader: thread.reader }).finally(() => thread.close());
  const budgets = await faultsOfBudgets(jobs, around);
  const scope = await scopeFaults(jobs, scopePolicy(around));
  const faults = await checkJobs({ ...jobs, faults: [...jobs.faults, ...budgets, ...scope.faults] }, paths);
  const warnings = await checkJobs({ ...jobs, faults: scope.warnings }, paths);
  // A mail that cannot be made concerns every report, whichever was named.
  faults.push(...(await faultsOfTemplates(around.config.DOCKET_TEMPLATES)));
  const unchecked: string[] = [];
  if (!options.offline) {
    const chosen = await isChosen(jobs, paths);
    const reports = [...jobs.reports.values()].filter(chosen);
    faults.push(...(await faultsOfCatalogs(reports, jobs, around, (why) => unchecked.push(why))));
    faults.sort(byPosition);
  }
  for (const why of unchecked) print.sayLine(`not checked against the catalog: ${why}`);
  const files = jobs.sources.size;
  if (options.json) print.printJson({ files, faults, warnings, not_checked: unchecked });
  else {
    for (const fault of faults) print.printLine(formatFault(fault));
    for (const fault of warnings) print.printLine(`warning: ${formatFault(fault)}`);
    const found = [`${files} files`, counted(faults.length, 'fault')];
    if (warnings.length > 0) found.push(`${counted(warnings.length, 'warning')}: a later version refuses these`);
    print.sayLine(found.join(', '));
  }
  process.exitCode = faults.length === 0 ? 0 : 1;
}

const counted = (count: number, what: string): string =>
  count === 0 ? `no ${what}s` : `${count} ${count === 1 ? what : `${what}s`}`;

async function faultsOfTemplates(folder: string | undefined): Promise<Fault[]> {
  if (folder === undefined) return [];
  const { checkTemplates } = await import('../render/check-templates.ts');
  return checkTemplates(folder);
}

/** Organizations that share an API key have one budget: each `org.yaml` that takes part in a conflict has a fault. */
async function faultsOfBudgets(jobs: Jobs, around: Surroundings): Promise<Fault[]> {
  const [{ budgetConflicts, CONFLICT_NEXT, limitsOf }, { secretSource }, { locate }] = await Promise.all([
    import('../compose/key-limits.ts'),
    import('../base/secret.ts'),
    import('../define/source.ts'),
  ]);
  const conflicts = await budgetConflicts(jobs.orgs.values(), secretSource(around.env, around));
  return conflicts.flatMap(({ organizations, message }) =>
    organizations.flatMap((org): Fault[] => {
      const [source, settings] = [jobs.sources.get(org), jobs.orgs.get(org)];
      if (source === undefined || settings === undefined) return [];
      const { calls, windowMs } = limitsOf(settings);
      return [
        {
          file: source.file,
          ...locate(source, ['budget']),
          message: message.replace(/\.$/, ''),
          expected: 'one budget for all organizations of the key',
          got: `${calls} calls in ${windowMs / 1000} s`,
          next: CONFLICT_NEXT,
        },
      ];
    }),
  );
}

/** Asks each organization's catalog once. One that cannot be asked is said, and is no fault of the files. */
async function faultsOfCatalogs(
  reports: readonly Definition[],
  jobs: Jobs,
  around: Surroundings,
  unchecked: (why: string) => void,
): Promise<Fault[]> {
  if (reports.length === 0) return [];
  if (around.config.COMPLIANCE_API_URL === undefined) {
    unchecked('COMPLIANCE_API_URL is not set');
    return [];
  }
  const [{ composeCatalogs }, { toDocketError }, { periodOf }, { RECENT_CATALOG_MS }, { checkPlan }, { locate }] =
    await Promise.all([
      import('../compose/ports.ts'),
      import('../base/error.ts'),
      import('../define/period.ts'),
      import('../fetch/catalogs.ts'),
      import('../plan/check-plan.ts'),
      import('../define/source.ts'),
    ]);
  const opened = await composeCatalogs(around, { orgs: jobs.orgs }).catch((thrown: unknown) => {
    const { message, next = '' } = toDocketError(thrown);
    unchecked(`${message} ${next}`.trim());
  });
  if (opened === undefined) return [];
  const { catalogOf, scope } = opened;
  try {
    const faults: Fault[] = [];
    for (const org of new Set(reports.map((report) => report.org))) {
      const settings = jobs.orgs.get(org);
      if (settings === undefined) continue;
      try {
        const faultsBy = (catalog: Catalog): Fault[] =>
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
        faults.push(...(found.length === 0 ? [] : faultsBy(await catalogOf(settings, RECENT_CATALOG_MS))));
      } catch (thrown) {
        unchecked(`${org}: ${toDocketError(thrown).message}`);
      }
    }
    return faults;
  } finally {
    await scope.close();
  }
}
