import type { Clock } from '../base/clock.ts';
import { isRedisOutage, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { faultsOf, type Jobs } from '../define/load.ts';
import { recipientFault } from '../define/recipients.ts';
import type { DefinitionStore, FrozenDefinition } from './definition-store.ts';
import type { Removal } from './mass-removal.ts';
import { cursorsOf, nameOf } from './timing.ts';
import type { Version, Versions } from './versions.ts';

/** The reports whose slots are opened, as all schedulers agree on them. */
export interface ReportsInForce {
  /** As of the last `adopt` or `follow`; another array when they are others. */
  now(): readonly FrozenDefinition[];
  /** Puts the definitions of this process in force for all: at start, and when its files have changed. */
  adopt(): Promise<void>;
  /** Sees what another process has put in force since. One read while nothing has changed. */
  follow(): Promise<void>;
  /** Once a day by one of all schedulers: makes the stored versions last that are in force. */
  keep(): Promise<void>;
}

export interface InForcePorts {
  /** The definitions of this process's files. */
  readonly jobs: () => Jobs;
  readonly versions: Versions;
  readonly definitions: DefinitionStore;
  /** Who adopts, as `host:pid`. */
  readonly by: string;
  /** Asked before the start of a process takes reports out; rejects when it may not. Absent: it may. */
  readonly admitRemoval?: (removal: Removal) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Definitions read from the store at the same time. */
const ABREAST = 50;

/** See `Versions` for who decides when schedulers have different files. */
export function reportsInForce(ports: InForcePorts): ReportsInForce {
  const { jobs, versions, definitions, by, clock, log } = ports;
  let reports: readonly FrozenDefinition[] = [];
  let known: number | undefined;

  const adopt = async (): Promise<void> => {
    const own = frozenReports(jobs());
    const standing = await versions.read();
    // A volume that is not mounted, most likely: it must not silence everybody's reports.
    if (known === undefined && standing.size > 0 && isEmpty(jobs())) {
      log.error('This process has no definitions, and leaves in force what is', {
        count: standing.size,
        path: jobs().folder,
        why: 'an empty folder is taken for a mistake; an organization without reports is not',
      });
      return read();
    }
    const put = own
      .map((frozen) => ({ frozen, name: nameOf(frozen), cursors: cursorsOf(frozen) }))
      .filter(({ frozen, name, cursors }) => !isInForce(standing.get(name), frozen.definition.digest, cursors));
    const names = new Set(own.map(nameOf));
    const others = [...standing].filter(([name]) => !names.has(name));
    const stay = await stillGood(others, ports);
    const remove = others.map(([name]) => name).filter((name) => !stay.has(name));
    // Later it is an edit of this very folder.
    if (known === undefined) await ports.admitRemoval?.(removalOf(remove, standing, jobs().folder));
    if (put.length + remove.length > 0) {
      // Stored before they are in force: whoever follows has to find them.
      await definitions.putAll(put.map(({ frozen }) => frozen));
      const back = await versions.adopt(
        {
          put: put.map(({ frozen, name, cursors }) => ({ name, digest: frozen.definition.digest, cursors })),
          remove,
        },
        clock.now(),
        by,
      );
      log.info('Definitions were put in force', { count: put.length, why: `${remove.length} taken out`, who: by });
      if (back.length > 0) {
        log.warn('Reports went back to the version before: it was rolled back, or another scheduler has other files', {
          count: back.length,
          why: back.slice(0, 20).join(', '),
        });
      }
    }
    await read();
  };

  const read = async (): Promise<void> => {
    const revision = await versions.revision();
    const standing = await versions.read();
    const near = new Map([...reports, ...frozenReports(jobs())].map((frozen) => [frozen.definition.digest, frozen]));
    const missing = [...standing].filter(([, { digest }]) => !near.has(digest));
    for (let from = 0; from < missing.length; from += ABREAST) {
      const batch = missing.slice(from, from + ABREAST);
      const found = await Promise.all(batch.map(([name, { digest }]) => stored(name, digest, ports)));
      for (const frozen of found) if (frozen !== undefined) near.set(frozen.definition.digest, frozen);
    }
    reports = [...standing.values()].flatMap(({ digest }) => near.get(digest) ?? []);
    known = revision;
  };

  return {
    now: () => reports,
    adopt,
    follow: async () => {
      const revision = await versions.revision();
      if (revision === known) return;
      // Redis has lost what was in force, or is back where it was before: what this process has is the best there is.
      if (known !== undefined && (revision ?? -1) < known) await adopt();
      else await read();
    },
    keep: async () => {
      if (await versions.claimKeeping()) await definitions.keep(reports.map(({ definition }) => definition.digest));
    },
  };
}

/** Reports without a schedule open no slots: nobody misses them at a given hour. */
function removalOf(remove: readonly string[], standing: ReadonlyMap<string, Version>, folder: string): Removal {
  const scheduled = new Map([...standing].filter(([, { cursors }]) => cursors.length > 0));
  const removed = remove.flatMap((name) => scheduled.get(name) ?? []);
  return { removed: removed.length, known: scheduled.size, by: removed.map(({ by }) => by), folder };
}

const isEmpty = ({ orgs, faults }: Jobs): boolean => orgs.size === 0 && faults.length === 0;

const isInForce = (version: Version | undefined, digest: string, cursors: readonly string[]): boolean =>
  version?.digest === digest && version.cursors.join() === cursors.join();

async function stored(
  name: string,
  digest: string,
  { definitions, log }: Pick<InForcePorts, 'definitions' | 'log'>,
): Promise<FrozenDefinition | undefined> {
  try {
    const frozen = await definitions.get(digest);
    if (frozen === undefined)
      log.error('A version in force is no longer kept; its slots are not opened', { path: name });
    return frozen;
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (isRedisOutage(error)) throw error;
    // A newer Docket's, in the middle of a deploy: one of its schedulers opens the slots.
    log.error('A version in force cannot be read here; its slots are left to other schedulers', {
      path: name,
      error: error.toJSON(),
    });
    return undefined;
  }
}

/** Reports in force that this process's files do not make, but only because a file has a fault: see `lastGood`. */
async function stillGood(
  others: readonly (readonly [string, Version])[],
  ports: InForcePorts,
): Promise<ReadonlySet<string>> {
  const jobs = ports.jobs();
  const stay = new Set<string>();
  for (const [name, version] of others) {
    const frozen = await lastGood(name, version, { ...ports, jobs });
    const [fault] = faultsOf(jobs, name);
    if (frozen === undefined || fault === undefined) continue;
    stay.add(name);
    ports.log.error('A report has a fault; the version that is in force stays', {
      org: frozen.definition.org,
      report: frozen.definition.report,
      path: `${fault.file}:${fault.line}:${fault.column}`,
      why: `in force since ${new Date(version.since).toISOString()}`,
    });
  }
  return stay;
}

/**
 * The version in force of a report whose file has a fault: after a restart nothing of this process remembers its last good
 * version, and Redis does. Undefined for a file that is gone, and for a version that mails somebody whom the organization
 * no longer allows.
 */
export async function lastGood(
  name: string,
  { digest }: Pick<Version, 'digest'>,
  { jobs, ...ports }: { readonly jobs: Jobs } & Pick<InForcePorts, 'definitions' | 'log'>,
): Promise<FrozenDefinition | undefined> {
  if (faultsOf(jobs, name).length === 0) return undefined;
  const frozen = await stored(name, digest, ports);
  if (frozen === undefined) return undefined;
  const { recipients: allowed } = jobs.orgs.get(frozen.settings.id) ?? frozen.settings;
  const recipients = frozen.definition.deliveries.flatMap(({ email }) => email?.to ?? []);
  return recipients.some((address) => recipientFault(address, allowed) !== undefined) ? undefined : frozen;
}

/** Every report of the folder with its organization. */
export const frozenReports = ({ reports, orgs }: Pick<Jobs, 'reports' | 'orgs'>): FrozenDefinition[] =>
  [...reports.values()].flatMap((definition) => {
    const settings = orgs.get(definition.org);
    return settings === undefined ? [] : [{ definition, settings }];
  });
