import type { AccountSetup } from '../../admin/auth/account-method.ts';
import type { Clock } from '../../base/clock.ts';
import type { AppContext } from '../../base/context.ts';
import type { DocketError } from '../../base/error.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import type { RedisClient } from '../../redis/client.ts';
import type { RedisServerInfo } from '../../redis/server-check.ts';
import type { DeploymentIdentity } from '../../services/deployment/deployment-identity.ts';
import type { CheckResult, Finding, HealthCheck } from '../../services/deployment/probe.ts';
import type { StorageProbe } from '../../services/deployment/storage-health.ts';
import type { OpenArchive } from '../archive.ts';
import type { Store } from '../store.ts';

/** What a probe of the whole deployment can use. */
export interface Probed {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly clock: Clock;
  readonly jobs: Definitions;
  /** Whether `docket start` runs. It then needs workers and a scheduler. */
  readonly started: boolean;
  /** Why the last trial write to Redis failed. */
  readonly writeFailure?: string | undefined;
}

export interface DiagnoseOptions {
  /** Whether to fetch each organization's catalog, for one metrics call per key. */
  readonly fetchCatalogs: boolean;
  /** Catalogs that the caller already has, by organization. */
  readonly known?: ReadonlyMap<string, Catalog>;
  readonly signal: AbortSignal;
}

/** What the probes of `docket doctor` can use. */
export interface Examination extends Omit<Probed, 'redis'> {
  readonly context: AppContext;
  /** How people sign in with accounts; absent if they cannot. */
  readonly signIn?: AccountSetup | undefined;
  readonly now: number;
  readonly signal: AbortSignal;
  /** Undefined if no connection could be opened. */
  readonly redis: RedisClient | undefined;
  /** The error of the connection, or of an unsuitable server. */
  readonly server: RedisServerInfo | DocketError;
  readonly api: () => Promise<readonly Finding[]>;
  /** Findings about the API keys, and the catalogs that were read with them. */
  readonly keys: () => Promise<{
    readonly findings: readonly Finding[];
    readonly catalogs: ReadonlyMap<string, Catalog>;
  }>;
}

interface Readable {
  readonly read: () => Promise<unknown>;
}

/** A process of `docket start`. Parts of roles it does not have are absent. */
export interface ProcessParts {
  readonly store: Pick<Store, 'redis' | 'prefix' | 'ping'>;
  readonly clock: Clock;
  readonly jobs: () => Definitions;
  readonly identity: Pick<DeploymentIdentity, 'conflict'>;
  readonly worker?: {
    readonly isAccepting: () => boolean;
    readonly active: () => number;
    readonly opened: Pick<OpenArchive, 'archive' | 'storage'> & Record<'switches' | 'denials', Readable>;
  };
  /** When it last scanned for due slots, epoch ms; undefined before the first scan. */
  readonly scheduler?: () => number | undefined;
}

type Look<At, Result> = (at: At) => Result | undefined | Promise<Result | undefined>;

/** One thing that Docket needs, and the checks for it. To add a probe, add an entry to `PROBES`. */
export interface Probe {
  /** Its line in `docket doctor`. If there are several findings, each has its own name. */
  readonly what: string;
  /** Finds the cause and the remedy, for `docket doctor`. A result with a `problem` is also shown on the page. */
  readonly shared?: Look<Probed, CheckResult | readonly Finding[]>;
  /** Replaces `shared` in `docket doctor`. */
  readonly doctor?: Look<Examination, CheckResult | readonly Finding[]>;
  /** Only runs if this line of `docket doctor` has not failed. */
  readonly after?: string;
  /** Checks of `/readyz`, by name. Undefined: the process has no such part. */
  readonly ready?: Readonly<Record<string, Look<ProcessParts, Omit<HealthCheck, 'name'>>>>;
  /**
   * Which processes run the `doctor` check once an hour. Failures appear on the page, in `/readyz` and in the metrics.
   * Absent: `shared` or `ready` covers it, or other probes see its effects (listed in
   * test/compose/probes/one-source.test.ts).
   */
  readonly hourly?: 'worker' | 'all';
  /** Trial writes of a process, for `/readyz` and `docket_storage_usable`. */
  readonly trials?: (parts: ProcessParts) => readonly StorageProbe[];
}
