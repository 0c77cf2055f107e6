import type { Clock } from '../../base/clock.ts';
import { forEachWithConcurrency, splitBatches } from '../../base/concurrency.ts';
import { isRedisOutage, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { recipientRefusal } from '../../definitions/allow-lists/recipients.ts';
import { clearFigures } from '../../definitions/diagnostics/protection-diagnostics.ts';
import { type Definitions, reportDiagnostics } from '../../definitions/load/load-definitions.ts';
import { type DefinitionKinds, describeDelivery } from '../../definitions/schema/kinds.ts';
import { cursorNames, reportName } from '../schedules/report-schedules.ts';
import type { ActiveVersion, ActiveVersions } from './active-versions.ts';
import type { DefinitionStore, FrozenDefinition } from './definition-store.ts';
import type { RemovalSummary } from './mass-removal.ts';

export interface ActiveReportsPorts {
  /** The definitions in this process's files. */
  readonly jobs: () => Definitions;
  readonly versions: ActiveVersions;
  readonly definitions: Omit<DefinitionStore, 'reportSchema'>;
  readonly targets: DefinitionKinds['targets'];
  /** Name of this process, `host:pid`. */
  readonly by: string;
  /** Called before a starting process removes reports. Rejects to prevent the removal. Default: allowed. */
  readonly assertRemovalAllowed?: (removal: RemovalSummary) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Definitions read from the store at the same time. */
const CONCURRENCY = 50;
/** Definitions stored at the same time. */
const BATCH_SIZE = 200;

/** Manages the reports whose slots are opened. They are the same for all schedulers; see `redisActiveVersions`. */
export function createActiveReports(ports: ActiveReportsPorts) {
  const { jobs, versions, definitions, by, clock, log } = ports;
  let reports: readonly FrozenDefinition[] = [];
  let known: number | undefined;

  const activate = async (): Promise<void> => {
    // Read once: the files may be reloaded meanwhile, and exactly the stored definitions must be activated.
    const loaded = jobs();
    const own = freezeReports(loaded);
    const revision = await versions.revision();
    const active = await versions.read();
    // Probably a volume that is not mounted, which must not remove all reports.
    if (known === undefined && active.size > 0 && isEmpty(loaded)) {
      log.error('Jobs folder is empty; keeping the active definitions', {
        count: active.size,
        path: jobs().folder,
        why: 'an empty folder counts as a mistake; an organization without reports does not',
      });
      return use(revision, active);
    }
    const wanted = own
      .map((report) => ({
        name: reportName(report),
        digest: report.definition.digest,
        cursors: cursorNames(report),
      }))
      .filter(({ name, digest, cursors }) => !isActive(active.get(name), digest, cursors));
    const put = wanted.filter((version) => isAllowed(version, active.get(version.name), loaded));
    const names = new Set(own.map(reportName));
    const others = [...active].filter(([name]) => !names.has(name));
    const kept = await lastGoodVersions(others, ports);
    const remove = others.map(([name]) => name).filter((name) => !kept.has(name));
    // Checked only at the start: a later removal is an edit of this folder, so it is intended.
    if (known === undefined) await ports.assertRemovalAllowed?.(summarizeRemoval(remove, active, jobs().folder));
    if (put.length + remove.length === 0) await use(revision, active);
    else {
      // Stored before they are activated, because other schedulers read them from then on.
      for (const batch of splitBatches(put, BATCH_SIZE)) {
        await definitions.putAll(batch.flatMap(({ name, digest }) => loadedVersion(loaded, name, digest) ?? []));
      }
      const rolledBack = await versions.activate(put, remove, clock.now(), by);
      log.info('Definitions activated', { count: put.length, why: `${remove.length} removed`, who: by });
      if (rolledBack.length > 0) {
        log.warn(
          'Reports were rolled back to their previous version: by a deployment, or because another scheduler has other files',
          { count: rolledBack.length, why: rolledBack.slice(0, 20).join(', ') },
        );
      }
      await read();
    }
  };

  /**
   * Whether a version may become active. A version that sends figures of a protected workbook unencrypted is only
   * allowed if it was already active before Docket refused such definitions.
   */
  const isAllowed = (
    { name, digest }: { readonly name: string; readonly digest: string },
    active: ActiveVersion | undefined,
    loaded: Definitions,
  ): boolean => {
    const frozen = loadedVersion(loaded, name, digest);
    const known = active?.digest === digest || reports.some(({ definition }) => definition.digest === digest);
    if (known || frozen === undefined || clearFigures(frozen.definition, ports.targets).length === 0) return true;
    log.error('A report is not activated: it sends figures of a protected workbook in the clear', {
      path: name,
      why: 'docket check shows the deliveries; write "unprotected: true" where it is meant',
    });
    return false;
  };

  /**
   * Reads the revision before the versions, so that the next `refresh` finds versions that are activated in between.
   */
  const read = async (): Promise<void> => use(await versions.revision(), await versions.read());

  const use = async (revision: number | undefined, active: ReadonlyMap<string, ActiveVersion>): Promise<void> => {
    const loaded = new Map([...reports, ...freezeReports(jobs())].map((each) => [each.definition.digest, each]));
    const missing = [...active].filter(([, { digest }]) => !loaded.has(digest));
    await forEachWithConcurrency(missing, CONCURRENCY, async ([name, { digest }]) => {
      const frozen = await loadVersion(name, digest, ports);
      if (frozen !== undefined) loaded.set(frozen.definition.digest, frozen);
    });
    reports = [...active.values()].flatMap(({ digest }) => loaded.get(digest) ?? []);
    known = revision;
  };

  return {
    /** The reports as of the last `activate` or `refresh`. A new array after each change. */
    current: () => reports,
    /**
     * Activates this process's definitions for all schedulers. Call it at the start, and after a change of its files.
     */
    activate,
    /** Reads what another process has activated since. Costs one read if nothing has changed. */
    refresh: async (): Promise<void> => {
      const revision = await versions.revision();
      if (revision === known) return;
      // Redis lost the active versions, or was restored to an older state: activate this process's versions.
      if (known !== undefined && (revision ?? -1) < known) await activate();
      else await read();
    },
    /** Renews the expiry of the stored active versions. Only one scheduler does so, once a day. */
    touch: async (): Promise<void> => {
      if (await versions.claimDailyTouch()) await definitions.touch(reports.map(({ definition }) => definition.digest));
    },
  };
}

/** Counts only scheduled reports, because the others open no slots. */
function summarizeRemoval(
  remove: readonly string[],
  active: ReadonlyMap<string, ActiveVersion>,
  folder: string,
): RemovalSummary {
  const scheduled = new Map([...active].filter(([, { cursors }]) => cursors.length > 0));
  const removed = remove.flatMap((name) => scheduled.get(name) ?? []);
  return { removed: removed.length, known: scheduled.size, by: removed.map(({ by }) => by), folder };
}

const isEmpty = ({ orgs, diagnostics }: Definitions): boolean => orgs.size === 0 && diagnostics.length === 0;

const isActive = (version: ActiveVersion | undefined, digest: string, cursors: readonly string[]): boolean =>
  version?.digest === digest && version.cursors.join() === cursors.join();

async function loadVersion(
  name: string,
  digest: string,
  { definitions, log }: Pick<ActiveReportsPorts, 'definitions' | 'log'>,
): Promise<FrozenDefinition | undefined> {
  try {
    const frozen = await definitions.get(digest);
    if (frozen === undefined)
      log.error('An active version is no longer stored; its slots are not opened', { path: name });
    return frozen;
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (isRedisOutage(error)) throw error;
    // It was written by a newer Docket, during a deployment: one of its schedulers opens the slots.
    log.error('An active version cannot be read here; its slots are left to other schedulers', {
      path: name,
      error: error.toJSON(),
    });
    return undefined;
  }
}

/** Active reports whose files have errors in this process; see `lastGoodVersion`. */
async function lastGoodVersions(
  others: readonly (readonly [string, ActiveVersion])[],
  ports: ActiveReportsPorts,
): Promise<ReadonlySet<string>> {
  const jobs = ports.jobs();
  const kept = new Set<string>();
  for (const [name, version] of others) {
    const frozen = await lastGoodVersion(name, version, { ...ports, jobs });
    const [diagnostic] = reportDiagnostics(jobs, name);
    if (frozen === undefined || diagnostic === undefined) continue;
    kept.add(name);
    ports.log.error('A report is invalid; its active version stays', {
      org: frozen.definition.org,
      report: frozen.definition.report,
      path: `${diagnostic.file}:${diagnostic.line}:${diagnostic.column}`,
      why: `active since ${new Date(version.since).toISOString()}`,
    });
  }
  return kept;
}

/**
 * The active version of a report whose file is invalid. After a restart, only Redis has the last valid version.
 * Undefined for a deleted file, and for a version with a recipient that the organization no longer allows.
 */
export async function lastGoodVersion(
  name: string,
  { digest }: Pick<ActiveVersion, 'digest'>,
  {
    jobs,
    targets,
    ...ports
  }: { readonly jobs: Definitions } & Pick<ActiveReportsPorts, 'definitions' | 'targets' | 'log'>,
): Promise<FrozenDefinition | undefined> {
  if (reportDiagnostics(jobs, name).length === 0) return undefined;
  const frozen = await loadVersion(name, digest, ports);
  if (frozen === undefined) return undefined;
  const { recipients: allowed } = jobs.orgs.get(frozen.settings.id) ?? frozen.settings;
  const mailboxes = frozen.definition.deliveries.flatMap((each) => describeDelivery(each, targets).mailboxes ?? []);
  return mailboxes.some(({ address }) => recipientRefusal(address, allowed) !== undefined) ? undefined : frozen;
}

/** Freezes every report of the jobs folder that has an organization. */
export const freezeReports = ({ reports, orgs }: Pick<Definitions, 'reports' | 'orgs'>): FrozenDefinition[] =>
  [...reports.values()].flatMap((definition) => {
    const settings = orgs.get(definition.org);
    return settings === undefined ? [] : [{ definition, settings }];
  });

/** A version that this process has loaded from its files; undefined if it has not. */
function loadedVersion({ reports, orgs }: Definitions, name: string, digest: string): FrozenDefinition | undefined {
  const definition = reports.get(name);
  const settings = definition === undefined ? undefined : orgs.get(definition.org);
  return definition?.digest === digest && settings !== undefined ? { definition, settings } : undefined;
}
