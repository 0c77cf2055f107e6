import type { AppContext } from '../../../base/context.ts';
import { toDocketError } from '../../../base/error.ts';
import { secretSource } from '../../../base/secrets/secret.ts';
import { BUILT_IN_KINDS, loadDefinitions } from '../../../compose/built-in-kinds.ts';
import { composeCatalogs } from '../../../compose/run-ports.ts';
import { DEFINITION_THREAD } from '../../../compose/threads.ts';
import { checkAllowLists } from '../../../definitions/allow-lists/check-allow-lists.ts';
import { comparePositions, type Diagnostic } from '../../../definitions/diagnostics/diagnostic.ts';
import { exceptionWarnings, sectionPeriodAdvice } from '../../../definitions/diagnostics/layout-diagnostics.ts';
import { protectionDiagnostics, subjectAdvice } from '../../../definitions/diagnostics/protection-diagnostics.ts';
import { scheduleAdvice } from '../../../definitions/diagnostics/schedule-advice.ts';
import { splitRecipientWarnings } from '../../../definitions/diagnostics/split-diagnostics.ts';
import type { Definitions } from '../../../definitions/load/load-definitions.ts';
import { reportSelector, selectDiagnostics } from '../../../definitions/load/path-selection.ts';
import type { Definition } from '../../../definitions/schema/report-definition.ts';
import type { PartialValue } from '../../../definitions/yaml/check-schema.ts';
import { diagnosticAt } from '../../../definitions/yaml/parse-yaml.ts';
import { formatPreparation } from '../../../plan/explain.ts';
import { redisActiveVersions } from '../../../queue/definitions/active-versions.ts';
import { DEFAULT_KEY_PREFIX } from '../../../redis/keys.ts';
import { BUDGET_CONFLICT_HINT, budgetConflicts, budgetLimits } from '../../../services/budgets/key-limits.ts';
import { startReaderThread } from '../../../services/definitions/definition-threads.ts';
import { readScopePolicy } from '../../../services/definitions/report-scope.ts';
import { lateWarnings } from '../../../services/forecast/late-warnings.ts';
import { createContext } from '../../context.ts';
import { type CommandIo, relativePath, resolvePath } from '../../io.ts';
import { readOptionalRedis } from '../../redis.ts';
import { createPrinter } from '../../terminal/print.ts';
import { formatGithub, toSarif } from './annotations.ts';
import { type Catalogs, checkReports } from './check-reports.ts';
import { printDiagnostics } from './print-diagnostics.ts';

interface CheckFlags {
  readonly offline?: boolean;
  /** Alias for `format: 'json'`. */
  readonly json?: boolean;
  readonly format: 'text' | 'json' | 'github' | 'sarif';
}

export async function check(given: readonly string[], flags: CheckFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const paths = given.map((path) => resolvePath(path, io));
  const thread = startReaderThread({ clock: context.clock, entry: DEFINITION_THREAD, positions: true });
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS, { parser: thread.reader }).finally(() =>
    thread.close(),
  );
  const budgets = await budgetDiagnostics(jobs, context);
  const scope = await checkAllowLists(withPartialReports(jobs), readScopePolicy(context), BUILT_IN_KINDS);
  const errors = await selectDiagnostics(
    { ...jobs, diagnostics: [...jobs.diagnostics, ...budgets, ...scope.errors] },
    paths,
  );
  const refusedLater = await selectDiagnostics({ ...jobs, diagnostics: [...scope.warnings, ...jobs.warnings] }, paths);
  const clear = await protectionFindings(jobs, context, io);
  errors.push(...(await selectDiagnostics({ ...jobs, diagnostics: clear.errors }, paths)));
  const found = [...adviceOn(jobs, context.clock.now()), ...clear.warnings];
  const advice = await selectDiagnostics({ ...jobs, diagnostics: found }, paths);
  // Templates apply to all reports, even those that `paths` leaves out.
  errors.push(...(await templateDiagnostics(context.config.DOCKET_TEMPLATES)));
  const chosen = await reportSelector(jobs, paths);
  advice.push(...(await templateAdvice(context.config.DOCKET_TEMPLATES, [...jobs.reports.values()].filter(chosen))));
  const unchecked: string[] = [];
  const readable = readableReports(jobs).filter(({ value }) => chosen(value));
  const catalogs =
    flags.offline || readable.length === 0
      ? undefined
      : await openCatalogs(jobs, context, (why) => unchecked.push(why));
  const { reports, late } = await (async () => ({
    reports: await checkReports(readable, jobs, context.clock.now(), catalogs),
    late: catalogs === undefined ? [] : await lateDiagnostics(jobs, context, catalogs),
  }))().finally(() => catalogs?.close());
  advice.push(...(await selectDiagnostics({ ...jobs, diagnostics: late }, paths)));
  errors.push(
    ...(await selectDiagnostics({ ...jobs, diagnostics: reports.errors }, paths)),
    ...reports.workbooks.errors,
  );
  advice.push(...(await selectDiagnostics({ ...jobs, diagnostics: reports.warnings }, paths)));
  advice.push(...reports.workbooks.warnings);
  const warnings = [...refusedLater, ...advice];
  errors.sort(comparePositions);
  warnings.sort(comparePositions);
  for (const why of unchecked) print.printStatus(`not checked against the catalog: ${why}`);
  const files = jobs.sources.size + jobs.targetSources.size;
  const format = flags.json ? 'json' : flags.format;
  const relative = (found: readonly Diagnostic[]) =>
    found.map((diagnostic) => ({ ...diagnostic, file: relativePath(diagnostic.file, io) }));
  if (format === 'json')
    print.printJson({ files, faults: errors, warnings, not_checked: unchecked, prepared: reports.prepared });
  else if (format === 'sarif') print.printJson(toSarif(relative(errors), relative(warnings)));
  else {
    if (format === 'github')
      for (const line of formatGithub(relative(errors), relative(warnings))) print.printLine(line);
    else {
      await printDiagnostics(errors, 'error', jobs, io);
      await printDiagnostics(warnings, 'warning', jobs, io);
    }
    for (const { name, prepare } of reports.prepared)
      print.printStatus(`${name} prepares ${formatPreparation(prepare)}`);
    const summary = [`${files} files`, formatCount(errors.length, 'error')];
    if (warnings.length > 0) summary.push(formatCount(warnings.length, 'warning') + refusalNote(refusedLater, advice));
    print.printStatus(summary.join(', '));
    if (files === 0)
      print.printStatus(`There are no definitions in ${jobs.folder}. Check DOCKET_JOBS and the mount of this folder.`);
  }
  io.exitCode = errors.length === 0 ? 0 : 1;
}

/** Warnings about layouts and schedules of valid reports that do not do what they promise. */
const adviceOn = ({ reports, sources, orgs }: Definitions, now: number): Diagnostic[] =>
  [...reports].flatMap(([name, report]) => {
    const [source, settings] = [sources.get(name), orgs.get(report.org)];
    return source === undefined || settings === undefined
      ? []
      : [
          ...exceptionWarnings(source, report, settings),
          ...scheduleAdvice(source, report, settings, BUILT_IN_KINDS, now),
          ...sectionPeriodAdvice(source, report, settings, now),
          ...subjectAdvice(source, report, settings, BUILT_IN_KINDS),
          ...splitRecipientWarnings(source, report, settings),
        ];
  });

/**
 * Deliveries that send figures of a protected workbook unprotected. A warning if this version is already active. An
 * error if it is new or changed, or if Redis is not configured or not reachable.
 */
async function protectionFindings({ reports, sources }: Definitions, context: AppContext, io: CommandIo) {
  const found = [...reports].flatMap(([name, report]) => {
    const source = sources.get(name);
    const diagnostics = source === undefined ? [] : protectionDiagnostics(source, report, BUILT_IN_KINDS);
    return diagnostics.length === 0 ? [] : [{ name, digest: report.digest, diagnostics }];
  });
  if (found.length === 0) return { errors: [], warnings: [] };
  const active = await readOptionalRedis(context, io, 'which versions are active', (redis) =>
    redisActiveVersions(redis, { prefix: DEFAULT_KEY_PREFIX }).read(),
  );
  const isActive = ({ name, digest }: (typeof found)[number]) => active?.get(name)?.digest === digest;
  return {
    errors: found.filter((each) => !isActive(each)).flatMap(({ diagnostics }) => diagnostics),
    warnings: found.filter(isActive).flatMap(({ diagnostics }) => diagnostics),
  };
}

function refusalNote(refusedLater: readonly Diagnostic[], advice: readonly Diagnostic[]): string {
  if (refusedLater.length === 0) return '';
  return advice.length === 0
    ? ': only DOCKET_REPORT_SCOPE=warn allows these'
    : `, of which only DOCKET_REPORT_SCOPE=warn allows ${refusedLater.length}`;
}

const formatCount = (count: number, noun: string): string =>
  count === 0 ? `no ${noun}s` : `${count} ${count === 1 ? noun : `${noun}s`}`;

async function templateDiagnostics(folder: string | undefined): Promise<Diagnostic[]> {
  if (folder === undefined) return [];
  const { checkTemplates } = await import('../../../render/check-templates.ts');
  return checkTemplates(folder);
}

/**
 * Warns about the organization's templates that do not show comments, approvals or corrections of these reports.
 * Unreadable templates are already errors.
 */
async function templateAdvice(folder: string | undefined, reports: readonly Definition[]): Promise<Diagnostic[]> {
  if (folder === undefined) return [];
  const { reviewTemplateWarnings } = await import('../../../render/review-templates.ts');
  return reviewTemplateWarnings(folder, reports).catch(() => []);
}

/**
 * Organizations that share an API key share its budget. Returns an error for each `org.yaml` that sets a different one.
 */
async function budgetDiagnostics(jobs: Definitions, context: AppContext): Promise<Diagnostic[]> {
  const conflicts = await budgetConflicts(jobs.orgs.values(), secretSource(context.env, context));
  return conflicts.flatMap(({ organizations, message }) =>
    organizations.flatMap((org): Diagnostic[] => {
      const [source, settings] = [jobs.sources.get(org), jobs.orgs.get(org)];
      if (source === undefined || settings === undefined) return [];
      const { calls, windowMs } = budgetLimits(settings);
      return [
        diagnosticAt(source, ['budget'], {
          code: 'budget.conflict',
          message: message.replace(/\.$/, ''),
          expected: 'one budget for all organizations of the key',
          got: `${calls} calls in ${windowMs / 1000} s`,
          next: BUDGET_CONFLICT_HINT,
        }),
      ];
    }),
  );
}

/** Warns about reports that cannot be on time. Missing catalogs were reported before. */
const lateDiagnostics = (jobs: Definitions, context: AppContext, { catalogOf }: Catalogs): Promise<Diagnostic[]> =>
  lateWarnings(jobs, context.clock.now(), {
    secrets: secretSource(context.env, context),
    cachedCatalog: (_key, settings) => catalogOf(settings),
  });

/** The definitions, including the readable parts of reports with errors. */
const withPartialReports = ({ orgs, reports, sources, partialReports = new Map() }: Definitions) => ({
  orgs,
  reports: new Map([...reports, ...[...partialReports].map(([name, { value }]) => [name, value] as const)]),
  sources: new Map([...sources, ...[...partialReports].map(([name, { source }]) => [name, source] as const)]),
});

/** All reports. Those with errors contain only their readable parts. */
const readableReports = ({ reports, sources, partialReports }: Definitions): PartialValue<Definition>[] => [
  ...[...reports].flatMap(([name, value]) => {
    const source = sources.get(name);
    return source === undefined ? [] : [{ value, source, lost: [] }];
  }),
  ...(partialReports?.values() ?? []),
];

/** A catalog that cannot be fetched is passed to `unchecked`, not reported as an error. */
async function openCatalogs(
  jobs: Definitions,
  context: AppContext,
  unchecked: (why: string) => void,
): Promise<Catalogs | undefined> {
  if (context.config.COMPLIANCE_API_URL === undefined) {
    unchecked('COMPLIANCE_API_URL is not set');
    return undefined;
  }
  const opened = await composeCatalogs(context, { orgs: jobs.orgs }).catch((thrown: unknown) => {
    const { message, next = '' } = toDocketError(thrown);
    unchecked(`${message} ${next}`.trim());
  });
  if (opened === undefined) return undefined;
  return {
    catalogOf: (settings, maxAgeMs) =>
      opened.catalogOf(settings, maxAgeMs).catch((thrown: unknown) => {
        unchecked(`${settings.id}: ${toDocketError(thrown).message}`);
        return undefined;
      }),
    close: () => opened.scope.close(),
  };
}
