import type { SteadyClock } from '../base/clock.ts';
import type { SecretSource } from '../base/secret.ts';
import type { Trace } from '../base/trace.ts';
import type { Definition } from '../define/definition.ts';
import type { OrgSettings } from '../define/org.ts';
import type { Archive } from '../deliver/archive.ts';
import type { Circuit } from '../deliver/circuit.ts';
import type { DestinationPolicy } from '../deliver/destination-guard.ts';
import type { Ledger } from '../deliver/ledger.ts';
import type { SentFigures } from '../deliver/sent-figures.ts';
import type { MailRoute } from '../deliver/targets.ts';
import type { Catalogs } from '../fetch/catalogs.ts';
import type { FetchInput } from '../fetch/fetch.ts';
import type { Renderer } from '../render/renderer.ts';
import type { Observe } from './event.ts';

/** What a run needs of the world, bound to one organization. Under the worker Redis stands behind these, inline memory. */
export interface RunPorts
  extends Pick<FetchInput, 'client' | 'key' | 'budget' | 'reads' | 'responses' | 'sharedAnswers' | 'patienceMs'> {
  readonly clock: SteadyClock;
  /** Where its stages and deliveries are spans; none are made when absent. */
  readonly trace?: Trace | undefined;
  /** Of what the report itself refers to: the password of its workbook. */
  readonly secrets: SecretSource;
  readonly catalogs: Catalogs;
  readonly render: Renderer;
  readonly archive: Archive;
  readonly ledger: Ledger;
  /** Undefined: nothing is remembered from run to run, and `send_if: changed` always sends. */
  readonly sentFigures?: SentFigures | undefined;
  /** What all workers know of the targets' servers; an inline run finds out by itself. */
  readonly circuit?: Circuit | undefined;
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
  readonly observe: Observe;
  /** No try will follow: what is still undelivered is then the result, not a reason to fail. */
  readonly lastAttempt: boolean;
  /** Somebody let a held pack go out as it is. */
  readonly released?: boolean;
  /** No record is kept of it: it cannot be retried, and nobody can decide about its deliveries. */
  readonly unrecorded?: boolean;
  /** Renews the lock that keeps others from this run; ms for which it is held, 0 when it is lost. Absent where there is none. */
  readonly confirmLock?: () => Promise<number>;
}
