import type { SteadyClock } from '../base/clock.ts';
import type { SecretSource } from '../base/secrets/secret.ts';
import type { Trace } from '../base/trace.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import type { Definition } from '../definitions/schema/report-definition.ts';
import type { Archive } from '../deliver/archive/archive.ts';
import type { CircuitBreaker } from '../deliver/circuit/circuit-breaker.ts';
import type { PeriodClaims } from '../deliver/claims/claim.ts';
import type { Denials } from '../deliver/denials/shared-denials.ts';
import type { DestinationPolicy } from '../deliver/destination-guard.ts';
import type { LastSentFigures } from '../deliver/last-sent-figures.ts';
import type { Ledger } from '../deliver/ledger/ledger.ts';
import type { Switches } from '../deliver/switches/shared-switches.ts';
import type { MailRoute, Target } from '../deliver/targets/target.ts';
import type { CatalogCache } from '../fetch/cache/catalog-cache.ts';
import type { Dataset } from '../fetch/dataset.ts';
import type { FetchPorts } from '../fetch/fetch-context.ts';
import type { FindReadings } from '../plan/reading.ts';
import type { Format } from '../render/formats/format.ts';
import type { Renderer } from '../render/renderer.ts';
import type { EditionStore } from './corrections/corrected-edition.ts';
import type { Reviews } from './review/load-review.ts';
import type { OnRunEvent } from './run-events.ts';

/**
 * What running a report for one organization needs. Workers use Redis implementations, inline runs use in-memory ones.
 */
export interface RunPorts
  extends Pick<FetchPorts, 'client' | 'key' | 'budget' | 'reads' | 'responses' | 'responseCache' | 'maxWaitMs'> {
  readonly clock: SteadyClock;
  /** Records stages and deliveries as spans. */
  readonly trace?: Trace | undefined;
  /** For the report's secrets, such as a workbook's password. */
  readonly secrets: SecretSource;
  readonly catalogs: CatalogCache;
  readonly render: Renderer;
  readonly archive: Archive;
  /** Stored readings of current counts. Undefined: none are used. */
  readonly readings?: FindReadings | undefined;
  /**
   * Adds to the judged figures of a run without review, before its files are rendered. Used for a sample's comments.
   */
  readonly annotate?: ((dataset: Dataset, locale: string) => Dataset) | undefined;
  /** Reviews of runs that wait for people. Undefined: a run that needs one fails. */
  readonly reviews?: Reviews | undefined;
  /**
   * Figures of editions that are watched for corrections. Undefined: none are stored, and no edition can be corrected.
   */
  readonly editions?: EditionStore | undefined;
  /** Undefined: the run delivers nothing. */
  readonly ledger?: Ledger | undefined;
  /** Lets only one of several runs of a report and period deliver. Undefined: all of them do. */
  readonly claims?: PeriodClaims | undefined;
  /** Undefined: deliveries are never stopped. */
  readonly switches?: Pick<Switches, 'assertOpen'> | undefined;
  /** Undefined: nobody is denied. */
  readonly denials?: Pick<Denials, 'list'> | undefined;
  /** Undefined: sent figures are not recorded, and `send_if: changed` always sends. */
  readonly sentFigures?: LastSentFigures | undefined;
  /** Shared by all workers; absent for inline runs. */
  readonly circuit?: CircuitBreaker | undefined;
  /** Undefined: no mail server is configured. */
  readonly mail: MailRoute | undefined;
  /** Folder of user templates. */
  readonly templates: string | undefined;
  /** The folder with definitions and the templates of workbooks. Undefined: there is none. */
  readonly definitionsFolder?: string | undefined;
  /** Base URL of the page, without a slash at its end; undefined: messages have no links to it. */
  readonly publicUrl?: string | undefined;
  /** The deployment's rules for destinations. */
  readonly destinations?: DestinationPolicy | undefined;
  /** Base of relative directory targets. */
  readonly workingDirectory: string;
  /** The built-in ones by default. */
  readonly targets?: readonly Target[];
  /** The output formats of `render`. */
  readonly formats: readonly Format[];
}

export interface RunContext {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  readonly signal: AbortSignal;
  readonly observe: OnRunEvent;
  /** Set if no attempt will follow: undelivered files are then part of the result, not a retryable failure. */
  readonly lastAttempt: boolean;
  /** Set if no earlier attempt has begun, so that no response of the run is stored. */
  readonly fresh?: boolean | undefined;
  /** Set if a held run was released for delivery. */
  readonly released?: boolean;
  /** Epoch ms at which a person last requested an attempt of the run. Absent: nobody did. */
  readonly askedAt?: number | undefined;
  /** Renews the run's lock. Resolves to the ms for which it is held, or 0 if it is lost. Absent without a lock. */
  readonly confirmLock?: () => Promise<number>;
}
