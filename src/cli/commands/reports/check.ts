import type { AppContext } from '../../../base/context.ts';
import { toDocketError } from '../../../base/error.ts';
import { secretSource } from '../../../base/secrets/secret.ts';
import { composeCatalogs } from '../../../compose/run-ports.ts';
import type { Catalog } from '../../../contract/catalog.ts';
import { checkAllowLists } from '../../../definitions/allow-lists/check-allow-lists.ts';
import { comparePositions, type Diagnostic, formatDiagnostic } from '../../../definitions/diagnostics/diagnostic.ts';
import { exceptionWarnings } from '../../../definitions/diagnostics/layout-diagnostics.ts';
import type { Definitions } from '../../../definitions/load/load-definitions.ts';
import { reportSelector, selectDiagnostics } from '../../../definitions/load/path-selection.ts';
import { runPeriodsOf } from '../../../definitions/periods/period.ts';
import type { Definition } from '../../../definitions/schema/report-definition.ts';
import { diagnosticAt } from '../../../definitions/yaml/parse-yaml.ts';
import { locate, type SourceFile } from '../../../definitions/yaml/source-file.ts';
import { RECENT_CATALOG_MAX_AGE_MS } from '../../../fetch/cache/catalog-cache.ts';
import type { PlanDiagnostic } from '../../../plan/checks/catalog-check.ts';
import { checkPlan } from '../../../plan/checks/check-plan.ts';
import { checkTargets } from '../../../plan/checks/check-targets.ts';
import { checkReadings } from '../../../plan/checks/reading-check.ts';
import { BUDGET_CONFLICT_HINT, budgetConflicts, budgetLimits } from '../../../services/budgets/key-limits.ts';
import { BUILT_IN_KINDS, loadDefinitions } from '../../../services/definitions/built-in-kinds.ts';
import { startReaderThread } from '../../../services/definitions/definition-threads.ts';
import { readScopePolicy } from '../../../services/definitions/report-scope.ts';
import { createContext } from '../../context.ts';
import { type CommandIo, resolvePath } from '../../io.ts';
import { createPrinter } from '../../terminal/print.ts';

interface CheckFlags {
  readonly offline?: boolean;
  readonly json?: boolean;
}

export async function check(given: readonly string[], flags: CheckFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
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
  const refusedLater = await selectDiagnostics({ ...jobs, diagnostics: [...scope.warnings, ...jobs.warnings] }, paths);
  const advice = await selectDiagnostics({ ...jobs, diagnostics: adviceOn(jobs) }, paths);
  const warnings = [...refusedLater, ...advice].sort(comparePositions);
  // Templates apply to all reports, including those that `paths` leaves out.
  errors.push(...(await templateDiagnostics(context.config.DOCKET_TEMPLATES)));
  const unchecked: string[] = [];
  if (!flags.offline) {
    const chosen = await reportSelector(jobs, paths);
    const reports = [...jobs.reports.values()].filter(chosen);
    const found = await catalogDiagnostics(reports, jobs, context, (why) => unchecked.push(why));
    errors.push(...(await selectDiagnostics({ ...jobs, diagnostics: found }, paths)));
    errors.sort(comparePositions);
  }
  for (const why of unchecked) print.printStatus(`not checked against the catalog: ${why}`);
  const files = jobs.sources.size + jobs.targetSources.size;
  if (flags.json) print.printJson({ files, faults: errors, warnings, not_checked: unchecked });
  else {
    for (const error of errors) print.printLine(formatDiagnostic(error));
    for (const warning of warnings) print.printLine(`warning: ${formatDiagnostic(warning)}`);
    const summary = [`${files} files`, formatCount(errors.length, 'error')];
    if (warnings.length > 0) summary.push(formatCount(warnings.length, 'warning') + refusalNote(refusedLater, advice));
    print.printStatus(summary.join(', '));
  }
  io.exitCode = errors.length === 0 ? 0 : 1;
}

/** Layouts of valid reports that do not show what they promise. */
const adviceOn = ({ reports, sources, orgs }: Definitions): Diagnostic[] =>
  [...reports].flatMap(([name, report]) => {
    const [source, settings] = [sources.get(name), orgs.get(report.org)];
    return source === undefined || settings === undefined ? [] : exceptionWarnings(source, report, settings);
  });

function refusalNote(refusedLater: readonly Diagnostic[], advice: readonly Diagnostic[]): string {
  if (refusedLater.length === 0) return '';
  return advice.length === 0
    ? ': a later version will refuse these'
    : `, of which a later version will refuse ${refusedLater.length}`;
}

const formatCount = (count: number, noun: string): string =>
  count === 0 ? `no ${noun}s` : `${count} ${count === 1 ? noun : `${noun}s`}`;

async function templateDiagnostics(folder: string | undefined): Promise<Diagnostic[]> {
  if (folder === undefined) return [];
  const { checkTemplates } = await import('../../../render/check-templates.ts');
  return checkTemplates(folder);
}

/** Organizations that share an API key share one budget: an error for each `org.yaml` that sets a different one. */
async function budgetDiagnostics(jobs: Definitions, context: AppContext): Promise<Diagnostic[]> {
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
        const at =
          (source: SourceFile) =>
          ({ path, ...text }: PlanDiagnostic): Diagnostic =>
            diagnosticAt(source, path, text);
        const errorsBy = (catalog: Catalog): Diagnostic[] => {
          const orgSource = jobs.sources.get(org);
          const targetSource = jobs.targetSources.get(org);
          return [
            ...(orgSource === undefined || settings.readings === undefined
              ? []
              : checkReadings(settings.readings, catalog).map(at(orgSource))),
            ...(targetSource === undefined ? [] : checkTargets(settings.targets ?? [], catalog).map(at(targetSource))),
            ...reports.flatMap((report) => {
              const source = report.org === org ? jobs.sources.get(`${org}/${report.report}`) : undefined;
              if (source === undefined) return [];
              // The current period is representative of later ones.
              const periods = runPeriodsOf(report, settings, context.clock.now());
              return [
                ...checkPlan({ definition: report, settings, ...periods, catalog }),
                ...checkTargets(report.targets ?? [], catalog),
              ].map(at(source));
            }),
          ];
        };
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
