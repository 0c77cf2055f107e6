import type { Command } from 'commander';
import type { Surroundings } from '../compose/ports.ts';
import type { Change, ReportDifference, ReportVersion } from '../define/difference.ts';
import type { Jobs } from '../define/load.ts';
import type { Version } from '../queue/versions.ts';

export function addDiff(program: Command): void {
  program
    .command('diff')
    .description('Show what the definitions here would change against those in force: schedules, recipients, calls')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Compares DOCKET_JOBS with what the schedulers of REDIS_URL go by. Changes nothing, spends no metrics call; metric
catalogs are those that the workers hold, and are asked for where they hold none.

Environment: REDIS_URL, DOCKET_JOBS, COMPLIANCE_API_URL, LOG_LEVEL; the organizations' keys

Exit codes: 0 the definitions can be put in force, whether or not they change anything; 1 there are faults: what has one
stays as it is

Examples:
  docket diff
  DOCKET_JOBS=checkout/jobs docket diff --json`,
    )
    .action(diff);
}

/** One report that would be another one. */
interface ReportChange extends ReportDifference {
  readonly report: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** Since when the version that is in force is, ISO; null for a new report. */
  readonly in_force_since: string | null;
  /** Metrics calls of a run that starts now; 0 where there is no report, null where they are not known. */
  readonly calls: { readonly before: number | null; readonly after: number | null };
}

async function diff(flags: { json?: boolean }): Promise<void> {
  const [{ readSurroundings }, { loadJobs, faultsOf }, { formatFault }, print] = await Promise.all([
    import('./surroundings.ts'),
    import('../define/load.ts'),
    import('../define/fault.ts'),
    import('./print.ts'),
  ]);
  const around = readSurroundings();
  const jobs = await loadJobs(around.config.DOCKET_JOBS);
  const { pairs, unreadable } = await pairsOf(jobs, around);
  // What has a fault here is not taken out: its last good version stays.
  const kept = pairs.filter(({ after, name }) => after === undefined && faultsOf(jobs, name).length > 0);
  const changing = pairs.filter((pair) => !kept.includes(pair));
  const { changes, unknown } = await changesOf(changing, around, jobs);
  const { faults } = jobs;
  if (flags.json) {
    print.printJson({ changes, kept: kept.map(({ name }) => name), faults, calls_unknown: unknown });
  } else {
    print.printLine(changes.length === 0 ? 'Nothing changes.' : changes.map(inLines).join('\n\n'));
    for (const { name } of kept) print.printLine(`\n= ${name}: has a fault here; the version in force stays`);
    for (const fault of faults) print.sayLine(formatFault(fault));
  }
  for (const name of unreadable)
    print.sayLine(`${name}: the version in force cannot be read; only that it changes is shown`);
  for (const why of unknown) print.sayLine(`calls are not known: ${why}`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

interface Pair {
  readonly name: string;
  readonly version: Version | undefined;
  readonly before: ReportVersion | undefined;
  readonly after: ReportVersion | undefined;
}

/** The reports of which the version in force and the one here are not the same, by name. */
async function pairsOf(jobs: Jobs, { config, log }: Surroundings): Promise<{ pairs: Pair[]; unreadable: string[] }> {
  const [{ openRedis }, { redisVersions }, { definitionStore }, { DEFAULT_PREFIX }, { KEEP_DAYS }, { frozenReports }] =
    await Promise.all([
      import('../queue/connection.ts'),
      import('../queue/versions.ts'),
      import('../queue/definition-store.ts'),
      import('../queue/keys.ts'),
      import('../compose/keep-days.ts'),
      import('../queue/in-force.ts'),
    ]);
  const redis = await openRedis(config.REDIS_URL, 'producer', log);
  try {
    const prefix = DEFAULT_PREFIX;
    const versions = await redisVersions(redis, { prefix }).read();
    const definitions = definitionStore(redis, { prefix, keepDays: KEEP_DAYS });
    const here = new Map(frozenReports(jobs).map((one) => [`${one.definition.org}/${one.definition.report}`, one]));
    const pairs: Pair[] = [];
    const unreadable: string[] = [];
    for (const name of [...new Set([...versions.keys(), ...here.keys()])].sort()) {
      const version = versions.get(name);
      const after = here.get(name);
      if (version !== undefined && version.digest === after?.definition.digest) continue;
      const before = version === undefined ? undefined : await definitions.get(version.digest).catch(() => undefined);
      if (version !== undefined && before === undefined) unreadable.push(name);
      pairs.push({ name, version, before, after });
    }
    return { pairs, unreadable };
  } finally {
    redis.disconnect();
  }
}

async function changesOf(
  pairs: readonly Pair[],
  around: Surroundings,
  { orgs }: Pick<Jobs, 'orgs'>,
): Promise<{ changes: ReportChange[]; unknown: string[] }> {
  if (pairs.length === 0) return { changes: [], unknown: [] };
  const { differenceOf } = await import('../define/difference.ts');
  const { tokensOf, unknown, close } = await planning(around, orgs);
  try {
    const changes: ReportChange[] = [];
    for (const { name, version, before, after } of pairs) {
      changes.push({
        report: name,
        change: version === undefined ? 'added' : after === undefined ? 'removed' : 'changed',
        in_force_since: version === undefined ? null : new Date(version.since).toISOString(),
        ...differenceOf(before, after, around.clock.now()),
        calls: {
          before: version === undefined ? 0 : await tokensOf(before),
          after: after === undefined ? 0 : await tokensOf(after),
        },
      });
    }
    return { changes, unknown: [...unknown] };
  } finally {
    await close();
  }
}

/** Plans versions against their organization's catalog. One that cannot be read makes its calls unknown, and no more. */
async function planning(
  around: Surroundings,
  orgs: Jobs['orgs'],
): Promise<{
  readonly tokensOf: (version: ReportVersion | undefined) => Promise<number | null>;
  readonly unknown: Set<string>;
  readonly close: () => Promise<void>;
}> {
  const [{ composeCatalogs, withCatalog }, { compilePlan }, { resolvePeriod }, { toDocketError }] = await Promise.all([
    import('../compose/ports.ts'),
    import('../plan/compile.ts'),
    import('../define/period.ts'),
    import('../base/error.ts'),
  ]);
  const unknown = new Set<string>();
  const composed = await composeCatalogs(around, { orgs }).catch((thrown: unknown) => {
    unknown.add(toDocketError(thrown).message);
    return undefined;
  });
  return {
    unknown,
    close: async () => composed?.scope.close(),
    tokensOf: async (version) => {
      if (version === undefined || composed === undefined) return null;
      const { definition, settings } = version;
      try {
        const period = resolvePeriod(
          definition.period,
          around.clock.now(),
          definition.timezone ?? settings.timezone,
          definition.locale ?? settings.locale,
        );
        const { calls } = await withCatalog(
          (maxAgeMs) => composed.catalogOf(settings, maxAgeMs),
          (catalog) => compilePlan({ definition, settings, period, catalog }),
        );
        return calls.filter(({ kind }) => kind === 'report').length;
      } catch (thrown) {
        unknown.add(`${definition.org}/${definition.report}: ${toDocketError(thrown).message}`);
        return null;
      }
    },
  };
}

const SIGN = { added: '+', removed: '-', changed: '~' } as const;

function inLines({ report, change, fields, org_fields, slots, recipients, targets, calls }: ReportChange): string {
  const lines = [`${SIGN[change]} ${report} ${change}`];
  const line = (name: string, text: string) => lines.push(`    ${name.padEnd(11)}${text}`);
  if (fields.length > 0) line('report', fields.join(', '));
  if (org_fields.length > 0) line('org.yaml', org_fields.join(', '));
  if (slots !== null) line('next slots', `${slotsIn(slots.before)} → ${slotsIn(slots.after)}`);
  if (changes(recipients)) line('recipients', changesIn(recipients));
  if (changes(targets)) line('targets', changesIn(targets));
  if (calls.before !== calls.after) line('calls', `${calls.before ?? '?'} → ${calls.after ?? '?'}`);
  return lines.join('\n');
}

const slotsIn = (slots: readonly string[]): string =>
  slots.length === 0 ? 'none' : slots.map((slot) => slot.replace(':00.000Z', 'Z')).join(', ');
const changes = ({ added, removed }: Change): boolean => added.length + removed.length > 0;
const changesIn = ({ added, removed }: Change): string =>
  [...added.map((name) => `+${name}`), ...removed.map((name) => `-${name}`)].join(' ');
