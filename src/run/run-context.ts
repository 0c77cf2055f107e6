import type { SteadyClock } from '../base/clock.ts';
import type { SecretSource } from '../base/secrets/secret.ts';
import type { Trace } from '../base/trace.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import type { Definition } from '../definitions/schema/report-definition.ts';
import type { Archive } from '../deliver/archive/archive.ts';
import type { CircuitBreaker } from '../deliver/circuit/circuit-breaker.ts';
import type { DestinationPolicy } from '../deliver/destination-guard.ts';
import type { LastSentFigures } from '../deliver/last-sent-figures.ts';
import type { Ledger } from '../deliver/ledger/ledger.ts';
import type { MailRoute } from '../deliver/targets/registry.ts';
import type { CatalogCache } from '../fetch/cache/catalog-cache.ts';
import type { FetchInput } from '../fetch/fetch-dataset.ts';
import type { Format } from '../render/formats/format.ts';
import type { Renderer } from '../render/renderer.ts';
import type { OnRunEvent } from './run-events.ts';

/** What a run needs of the world, bound to one organization. Under the worker Redis stands behind these, inline memory. */
export interface RunPorts
  extends Pick<FetchInput, 'client' | 'key' | 'budget' | 'reads' | 'responses' | 'responseCache' | 'maxWaitMs'> {
  readonly clock: SteadyClock;
  /** Where its stages and deliveries are spans; none are made when absent. */
  readonly trace?: Trace | undefined;
  /** Of what the report itself refers to: the password of its workbook. */
  readonly secrets: SecretSource;
  readonly catalogs: CatalogCache;
  readonly render: Renderer;
  /** The registry of output formats, which `render` knows too. */
  readonly formats: readonly Format[];
  readonly archive: Archive;
  readonly ledger: Ledger;
  /** Undefined: nothing is remembered from run to run, and `send_if: changed` always sends. */
  readonly sentFigures?: LastSentFigures | undefined;
  /** What all workers know of the targets' servers; an inline run finds out by itself. */
  readonly circuit?: CircuitBreaker | undefined;
  /** Undefined: no mail server is configured. */
  readonly mail: MailRoute | undefined;
  /** Folder of the user's own templates. */
  readonly templates: string | undefined;
  /** What the deployment says of where reports may be delivered to. */
  readonly destinations?: DestinationPolicy | undefined;
  /** What relative directory targets are resolved against. */
  readonly workingDirectory: string;
}

export interface RunContext {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  readonly signal: AbortSignal;
  readonly observe: OnRunEvent;
  /** No try will follow: what is still undelivered is then the result, not a reason to fail. */
  readonly lastAttempt: boolean;
  /** Somebody let a held pack go out as it is. */
  readonly released?: boolean;
  /** No record is kept of it: it cannot be retried, and nobody can decide about its deliveries. */
  readonly unrecorded?: boolean;
  /** Renews the lock that keeps others from this run; ms for which it is held, 0 when it is lost. Absent where there is none. */
  readonly confirmLock?: () => Promise<number>;
}
