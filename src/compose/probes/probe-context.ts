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

/** What a probe of the whole deployment looks at. */
export interface Probed {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly clock: Clock;
  readonly jobs: Definitions;
  /** Whether `docket start` runs: it needs workers and a scheduler. */
  readonly started: boolean;
  /** Why the last trial write to Redis failed. */
  readonly writeFailure?: string | undefined;
}

export interface DiagnoseOptions {
  /** Fetches each organization's catalog: one metrics call per key. */
  readonly askCatalogs: boolean;
  /** Catalogs that the caller has already, by organization. */
  readonly known?: ReadonlyMap<string, Catalog>;
  readonly signal: AbortSignal;
}

/** What `docket doctor` looks at. */
export interface Examination extends Omit<Probed, 'redis'> {
  readonly context: AppContext;
  /** How people sign in with accounts; absent where they cannot. */
  readonly signIn?: AccountSetup | undefined;
  readonly now: number;
  readonly signal: AbortSignal;
  /** Undefined where no connection could be opened. */
  readonly redis: RedisClient | undefined;
  /** The error of the connection, or of a server that is not suitable. */
  readonly server: RedisServerInfo | DocketError;
  readonly api: () => Promise<readonly Finding[]>;
  /** The API keys and the catalogs that could be read with them. */
  readonly keys: () => Promise<{
    readonly findings: readonly Finding[];
    readonly catalogs: ReadonlyMap<string, Catalog>;
  }>;
}

interface Readable {
  readonly read: () => Promise<unknown>;
}

/** A process of `docket start`. Parts of roles that it does not have are absent. */
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

/** One thing that Docket needs, and who looks at it. A new probe is an entry of `PROBES`. */
export interface Probe {
  /** Its line in `docket doctor`. Of several findings, each names itself. */
  readonly what: string;
  /** The cause and the remedy, for `docket doctor` and, if the result is a `problem`, for the page. */
  readonly shared?: Look<Probed, CheckResult | readonly Finding[]>;
  /** For `docket doctor`, instead of `shared`. */
  readonly doctor?: Look<Examination, CheckResult | readonly Finding[]>;
  /** The line of `docket doctor` that must not have failed. */
  readonly after?: string;
  /** By the name in `/readyz`. Undefined: the process has no such part. */
  readonly ready?: Readonly<Record<string, Look<ProcessParts, Omit<HealthCheck, 'name'>>>>;
  /**
   * Which processes make the check of `docket doctor` once an hour; the page, `/readyz` and the metrics show what fails.
   * Absent: it has `shared` or `ready`, or leaves traces at others (test/compose/probes/one-source.test.ts says which).
   */
  readonly hourly?: 'worker' | 'all';
  /** Trial writes of a process, for `/readyz` and `docket_storage_usable`. */
  readonly trials?: (parts: ProcessParts) => readonly StorageProbe[];
}
