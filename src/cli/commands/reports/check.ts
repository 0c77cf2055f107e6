import type { Command } from 'commander';
import type { AppContext } from '../../../base/context.ts';
import type { Catalog } from '../../../contract/catalog.ts';
import type { Diagnostic } from '../../../definitions/diagnostics/diagnostic.ts';
import type { Definitions } from '../../../definitions/load/load-definitions.ts';
import type { Definition } from '../../../definitions/schema/report-definition.ts';
import { type CommandIo, resolvePath } from '../../io.ts';
import { createPrinter } from '../../terminal/print.ts';

export function addCheckCommand(program: Command, io: CommandIo): void {
  program
    .command('check')
    .description('Validate report definitions and your own templates: all errors, as file:line:column')
    .argument('[paths...]', 'files or folders below DOCKET_JOBS; default: all')
    .option('--offline', 'do not fetch the organizations’ metric catalogs')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
A later version will refuse what a warning names: a secret or a destination outside the report's organization (docs/targets.md).

Environment: DOCKET_JOBS, DOCKET_TEMPLATES, DOCKET_SECRET_FOLDERS, DOCKET_REQUIRE_DESTINATIONS, DOCKET_REPORT_SCOPE, LOG_LEVEL;
without --offline also COMPLIANCE_API_URL, REDIS_URL and the organizations' keys

Exit codes: 0 no errors, warnings are allowed; 1 errors; 2 usage or configuration

Examples:
  docket check                         everything, against the catalogs that can be reached
  docket check --offline               without calling the API
  docket check jobs/acme/weekly.yaml   one report`,
    )
    .action((paths: string[], flags: CheckFlags) => check(paths, flags, io));
}

interface CheckFlags {
  readonly offline?: boolean;
  readonly json?: boolean;
}

async function check(given: readonly string[], flags: CheckFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [
    { createContext },
    { startReaderThread },
    { BUILT_IN_KINDS, loadDefinitions },
    { selectDiagnostics, reportSelector },
    { comparePositions, formatDiagnostic },
    { readScopePolicy },
    { checkAllowLists },
  ] = await Promise.all([
    import('../../context.ts'),
    import('../../../services/definitions/definition-threads.ts'),
    import('../../../services/definitions/built-in-kinds.ts'),
    import('../../../definitions/load/path-selection.ts'),
    import('../../../definitions/diagnostics/diagnostic.ts'),
    import('../../../services/definitions/report-scope.ts'),
    import('../../../definitions/allow-lists/check-allow-lists.ts'),
  ]);
  const context = createContext(io);
  const paths = given.map((path) => resolvePath(path, io));
  const thread = startReaderThread({ clock: context.clock, positions: true });
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS, { parser: thread.reader }).finally(() =>
    thread.close(),
  );
  const budgets = await budgetDiagnostics(jobs, context);
  const scope = await checkAllowLists(jobs, readScopePolicy(context), BUILT_IN_KINDS);
  const errors = await selectDiagnostics(
    { ...jobs, diagnostics: [...jobs.diagnostics, ...budgets, ...scope.errors] },
    paths,
  );
  const warnings = await selectDiagnostics({ ...jobs, diagnostics: scope.warnings }, paths);
  // Templates apply to all reports, including those that `paths` leaves out.
  errors.push(...(await templateDiagnostics(context.config.DOCKET_TEMPLATES)));
  const unchecked: string[] = [];
  if (!flags.offline) {
    const chosen = await reportSelector(jobs, paths);
    const reports = [...jobs.reports.values()].filter(chosen);
    errors.push(...(await catalogDiagnostics(reports, jobs, context, (why) => unchecked.push(why))));
    errors.sort(comparePositions);
  }
  for (const why of unchecked) print.printStatus(`not checked against the catalog: ${why}`);
  const files = jobs.sources.size;
  if (flags.json) print.printJson({ files, faults: errors, warnings, not_checked: unchecked });
  else {
    for (const error of errors) print.printLine(formatDiagnostic(error));
    for (const warning of warnings) print.printLine(`warning: ${formatDiagnostic(warning)}`);
    const summary = [`${files} files`, formatCount(errors.length, 'error')];
    if (warnings.length > 0)
      summary.push(`${formatCount(warnings.length, 'warning')}: a later version will refuse these`);
    print.printStatus(summary.join(', '));
  }
  io.exitCode = errors.length === 0 ? 0 : 1;
}

const formatCount = (count: number, noun: string): string =>
  count === 0 ? `no ${noun}s` : `${count} ${count === 1 ? noun : `${noun}s`}`;

async function templateDiagnostics(folder: string | undefined): Promise<Diagnostic[]> {
  if (folder === undefined) return [];
  const { checkEmailTemplates } = await import('../../../render/email/check-templates.ts');
  return checkEmailTemplates(folder);
}

/** Organizations that share an API key share one budget: an error for each `org.yaml` that sets a different one. */
async function budgetDiagnostics(jobs: Definitions, context: AppContext): Promise<Diagnostic[]> {
  const [{ budgetConflicts, BUDGET_CONFLICT_HINT, budgetLimits }, { secretSource }, { locate }] = await Promise.all([
    import('../../../services/budgets/key-limits.ts'),
    import('../../../base/secrets/secret.ts'),
    import('../../../definitions/yaml/source-file.ts'),
  ]);
  const conflicts = await budgetConflicts(jobs.orgs.values(), secretSource(context.env, context));
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

/** Checks the reports against their organizations' catalogs. A catalog that cannot be fetched is reported to `unchecked`, not as an error. */
async function catalogDiagnostics(
  reports: readonly Definition[],
  jobs: Definitions,
  context: AppContext,
  unchecked: (why: string) => void,
): Promise<Diagnostic[]> {
  if (reports.length === 0) return [];
  if (context.config.COMPLIANCE_API_URL === undefined) {
    unchecked('COMPLIANCE_API_URL is not set');
    return [];
  }
  const [
    { composeCatalogs },
    { toDocketError },
    { runPeriodsOf },
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
  const opened = await composeCatalogs(context, { orgs: jobs.orgs }).catch((thrown: unknown) => {
    const { message, next = '' } = toDocketError(thrown);
    unchecked(`${message} ${next}`.trim());
  });
  if (opened === undefined) return [];
  const { catalogOf, scope } = opened;
  try {
    const errors: Diagnostic[] = [];
    for (const org of new Set(reports.map((report) => report.org))) {
      const settings = jobs.orgs.get(org);
      if (settings === undefined) continue;
      try {
        const errorsBy = (catalog: Catalog): Diagnostic[] =>
          reports.flatMap((report) => {
            const source = report.org === org ? jobs.sources.get(`${org}/${report.report}`) : undefined;
            if (source === undefined) return [];
            // The current period is representative of later ones.
            const periods = runPeriodsOf(report, settings, context.clock.now());
            return checkPlan({ definition: report, settings, ...periods, catalog }).map(
              ({ path, expected, got, next }) => ({
                file: source.file,
                ...locate(source, path),
                expected,
                got,
                next,
              }),
            );
          });
        const found = errorsBy(await catalogOf(settings));
        // A cached catalog may lack metrics that were added since.
        errors.push(...(found.length === 0 ? [] : errorsBy(await catalogOf(settings, RECENT_CATALOG_MAX_AGE_MS))));
      } catch (thrown) {
        unchecked(`${org}: ${toDocketError(thrown).message}`);
      }
    }
    return errors;
  } finally {
    await scope.close();
  }
}
