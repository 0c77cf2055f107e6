import type { AppContext } from '../../../base/context.ts';
import { toDocketError } from '../../../base/error.ts';
import {
  BUILT_IN_KINDS,
  loadDefinitions,
  reportDiagnostics,
  reportFileSchema,
} from '../../../compose/built-in-kinds.ts';
import { composeCatalogs } from '../../../compose/run-ports.ts';
import { type Diagnostic, formatDiagnostic } from '../../../definitions/diagnostics/diagnostic.ts';
import type { Definitions } from '../../../definitions/load/load-definitions.ts';
import { resolveRunPeriods } from '../../../definitions/periods/period.ts';
import { diffReports, type ReportDiff, type ReportVersion, type SetChange } from '../../../definitions/report-diff.ts';
import { withCatalog } from '../../../fetch/cache/catalog-cache.ts';
import { compilePlan } from '../../../plan/compile.ts';
import { freezeReports } from '../../../queue/definitions/active-reports.ts';
import { type ActiveVersion, redisActiveVersions } from '../../../queue/definitions/active-versions.ts';
import { definitionStore } from '../../../queue/definitions/definition-store.ts';
import { reportName } from '../../../queue/schedules/report-schedules.ts';
import { DEFAULT_KEY_PREFIX, RETENTION_DAYS } from '../../../redis/keys.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { withRedis } from '../../redis.ts';
import { createPrinter } from '../../terminal/print.ts';
import { definitionsInGit } from './definitions-in-git.ts';

/** A changed report. */
interface ReportChange extends ReportDiff {
  readonly report: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** When the active version took effect, ISO. Null for a new report, and when comparing with a Git revision. */
  readonly in_force_since: string | null;
  /** Metrics calls of a run that starts now. 0 if the report does not exist, null if unknown. */
  readonly calls: { readonly before: number | null; readonly after: number | null };
}

interface DiffFlags {
  /** A Git revision to compare with, instead of the active definitions. */
  readonly base?: string;
  /** Alias for `format: 'json'`. */
  readonly json?: boolean;
  readonly format: 'text' | 'json' | 'markdown';
}

export async function diff(flags: DiffFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS);
  const { pairs, unreadable } = await (flags.base === undefined
    ? findChangedVersions(jobs, context)
    : findChangesSince(await definitionsInGit(context.config.DOCKET_JOBS, flags.base), jobs));
  const format = flags.json ? 'json' : flags.format;
  // A report with an invalid local definition is not removed: its active version stays.
  const kept = pairs.filter(({ after, name }) => after === undefined && reportDiagnostics(jobs, name).length > 0);
  const changing = pairs.filter((pair) => !kept.includes(pair));
  const { changes, unknown } = await describeChanges(changing, context, jobs);
  const { diagnostics } = jobs;
  if (format === 'markdown') {
    print.printLine(formatComment(changes, diagnostics));
  } else if (format === 'json') {
    print.printJson({ changes, kept: kept.map(({ name }) => name), faults: diagnostics, calls_unknown: unknown });
  } else {
    print.printText(changes.length === 0 ? 'Nothing changes.' : changes.map(formatReportChange).join('\n\n'));
    for (const { name } of kept)
      print.printText(`\n= ${name}: is invalid here${flags.base === undefined ? '; the active version stays' : ''}`);
    for (const diagnostic of diagnostics) print.printStatus(formatDiagnostic(diagnostic));
  }
  for (const name of unreadable)
    print.printStatus(`${name}: the previous version cannot be read; the differences are not shown`);
  for (const why of unknown) print.printStatus(`calls are unknown: ${why}`);
  if (format === 'text' && diagnostics.length > 0)
    print.printNext([{ command: 'docket check', why: 'lists all errors with their positions' }]);
  io.exitCode = diagnostics.length === 0 ? 0 : 1;
}

interface VersionPair {
  readonly name: string;
  readonly version: ActiveVersion | undefined;
  readonly before: ReportVersion | undefined;
  readonly after: ReportVersion | undefined;
}

const byName = (jobs: Definitions): ReadonlyMap<string, ReportVersion> =>
  new Map(freezeReports(jobs).map((report) => [reportName(report), report]));

/** The reports whose active and local versions differ, sorted by name. */
function findChangedVersions(jobs: Definitions, context: AppContext) {
  return withRedis(context, async (redis) => {
    const prefix = DEFAULT_KEY_PREFIX;
    const versions = await redisActiveVersions(redis, { prefix }).read();
    const definitions = definitionStore(redis, { prefix, keepDays: RETENTION_DAYS, reportSchema: reportFileSchema });
    const local = byName(jobs);
    const pairs: VersionPair[] = [];
    const unreadable: string[] = [];
    for (const name of [...new Set([...versions.keys(), ...local.keys()])].sort()) {
      const version = versions.get(name);
      const after = local.get(name);
      if (version !== undefined && version.digest === after?.definition.digest) continue;
      const before = version === undefined ? undefined : await definitions.get(version.digest).catch(() => undefined);
      if (version !== undefined && before === undefined) unreadable.push(name);
      pairs.push({ name, version, before, after });
    }
    return { pairs, unreadable };
  });
}

/** The reports that differ from a base, sorted by name. Invalid files of the base count as missing. */
function findChangesSince(base: Definitions, jobs: Definitions): { pairs: VersionPair[]; unreadable: string[] } {
  const [before, after] = [byName(base), byName(jobs)];
  const pairs = [...new Set([...before.keys(), ...after.keys()])].sort().map((name) => ({
    name,
    version: undefined,
    before: before.get(name),
    after: after.get(name),
  }));
  return {
    pairs: pairs.filter((pair) => pair.before?.definition.digest !== pair.after?.definition.digest),
    unreadable: [...base.sources.keys()].filter((name) => reportDiagnostics(base, name).length > 0),
  };
}

async function describeChanges(
  pairs: readonly VersionPair[],
  context: AppContext,
  { orgs }: Pick<Definitions, 'orgs'>,
): Promise<{ changes: ReportChange[]; unknown: string[] }> {
  if (pairs.length === 0) return { changes: [], unknown: [] };
  const { tokensOf, unknown, close } = await openCallCounter(context, orgs);
  try {
    const changes: ReportChange[] = [];
    for (const { name, version, before, after } of pairs) {
      changes.push({
        report: name,
        change: version === undefined && before === undefined ? 'added' : after === undefined ? 'removed' : 'changed',
        in_force_since: version === undefined ? null : new Date(version.since).toISOString(),
        ...diffReports(before, after, context.clock.now(), BUILT_IN_KINDS),
        calls: {
          before: version === undefined && before === undefined ? 0 : await tokensOf(before),
          after: after === undefined ? 0 : await tokensOf(after),
        },
      });
    }
    return { changes, unknown: [...unknown] };
  } finally {
    await close();
  }
}

/**
 * Counts metrics calls by planning each version against the catalog of its organization. If that fails, the number of
 * calls is unknown.
 */
async function openCallCounter(context: AppContext, orgs: Definitions['orgs']) {
  const unknown = new Set<string>();
  const composed = await composeCatalogs(context, { orgs }).catch((thrown: unknown) => {
    unknown.add(toDocketError(thrown).message);
  });
  return {
    unknown,
    close: async () => composed?.scope.close(),
    tokensOf: async (version: ReportVersion | undefined): Promise<number | null> => {
      if (version === undefined || composed === undefined) return null;
      const { definition, settings } = version;
      try {
        const periods = resolveRunPeriods(definition, settings, context.clock.now());
        const { calls } = await withCatalog(
          (maxAgeMs) => composed.catalogOf(settings, maxAgeMs),
          (catalog) => compilePlan({ definition, settings, ...periods, catalog }),
        );
        return calls.filter(({ kind }) => kind === 'report').length;
      } catch (thrown) {
        unknown.add(`${definition.org}/${definition.report}: ${toDocketError(thrown).message}`);
        return null;
      }
    },
  };
}

const CHANGE_SIGNS = { added: '+', removed: '-', changed: '~' } as const;

const formatReportChange = (change: ReportChange): string =>
  [
    `${CHANGE_SIGNS[change.change]} ${change.report} ${change.change}`,
    ...changedLines(change).map(([name, text]) => `    ${name.padEnd(11)}${text}`),
  ].join('\n');

/**
 * A comment for a pull request, in Markdown. Text from definitions is formatted as code, so that it cannot contain
 * markup.
 */
function formatComment(changes: readonly ReportChange[], diagnostics: readonly Diagnostic[]): string {
  const code = (text: string) => `\`${text.replaceAll('`', 'ˋ')}\``;
  const count =
    changes.length === 0
      ? 'No report changes'
      : changes.length === 1
        ? '1 report changes'
        : `${changes.length} reports change`;
  return [
    `### Docket: ${count}`,
    ...changes.map((change) =>
      [
        `**${code(change.report)}** is ${change.change}`,
        '',
        ...changedLines(change).map(([name, text]) => `- ${name}: ${code(text)}`),
      ].join('\n'),
    ),
    ...(diagnostics.length === 0
      ? []
      : [['**Errors**', '', ...diagnostics.map((each) => `- ${code(formatDiagnostic(each))}`)].join('\n')]),
  ].join('\n\n');
}

function changedLines({ org_fields, slots, calls, ...changed }: ReportChange): [name: string, text: string][] {
  const { fields, recipients, targets } = changed;
  const lines: [string, string][] = [];
  const line = (name: string, text: string) => lines.push([name, text]);
  if (fields.length > 0) line('report', fields.join(', '));
  if (org_fields.length > 0) line('org.yaml', org_fields.join(', '));
  if (slots !== null) line('next slots', `${formatSlots(slots.before)} → ${formatSlots(slots.after)}`);
  if (hasChanges(recipients)) line('recipients', formatChanges(recipients));
  if (hasChanges(targets)) line('targets', formatChanges(targets));
  if (calls.before !== calls.after) line('calls', `${calls.before ?? '?'} → ${calls.after ?? '?'}`);
  return lines;
}

const formatSlots = (slots: readonly string[]): string =>
  slots.length === 0 ? 'none' : slots.map((slot) => slot.replace(':00.000Z', 'Z')).join(', ');
const hasChanges = ({ added, removed }: SetChange): boolean => added.length + removed.length > 0;
const formatChanges = ({ added, removed }: SetChange): string =>
  [...added.map((name) => `+${name}`), ...removed.map((name) => `-${name}`)].join(' ');
