import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import type { SecretSource } from '../../base/secrets/secret.ts';
import type { TemplateVariables } from '../../base/text/template.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Archive, Manifest, PublishedRun } from '../archive/archive.ts';
import type { SharedLink } from '../archive/storage/archive-storage.ts';
import type { SendFn, VerificationResult } from '../attempt.ts';
import type { DestinationPolicy } from '../destination-guard.ts';
import { deliveryId, type Ledger, type NewDelivery } from '../ledger/ledger.ts';

/** One delivery of a definition: its ledger row, and how to make it. */
export interface Delivery {
  readonly row: NewDelivery;
  /** Names what it needs to be up: deliveries of one service go down together. */
  readonly service: string;
  readonly messageId: string | null;
  /**
   * Archives what will leave. Throws `deliver.*` when it is refused for good.
   * @param before the row's epoch before this attempt: at 0 the archive has no other to compare it with
   */
  readonly prepare: (before: number) => Promise<SendFn>;
  /** What the target itself shows of a row that was left `sending`. */
  readonly verify?: () => Promise<VerificationResult>;
  /** Where each file is once this is `sent`, by the file's name. */
  readonly fileLocations?: () => ReadonlyMap<string, string>;
  /** Links that open for whoever has them, once this is `sent`, by the file's name; without those that cannot be made. */
  readonly sharedLinks?: () => Promise<ReadonlyMap<string, SharedLink>>;
  /** Tells of deliveries of an earlier turn, and so goes after them: 0, the default, to 2. */
  readonly phase?: 1 | 2;
}

/** What deliveries of every kind are made from. */
export interface TargetContext {
  readonly settings: OrgSettings;
  readonly published: PublishedRun;
  readonly archive: Archive;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly secrets: SecretSource;
  readonly workingDirectory: string;
  /** What the deployment says of destinations; what the organization says of them holds without it, too. */
  readonly destinations?: DestinationPolicy | undefined;
}

/** The variables of subjects and paths. */
export const templateVariables = ({ period, org, report, title, run }: Manifest): TemplateVariables => ({
  period,
  org,
  report,
  title,
  run,
});

/** `key` tells rows of one target apart where the recipient, which is for people, may change. */
export function newRow({ manifest }: PublishedRun, target: string, recipient: string, key = recipient): NewDelivery {
  const { run, org, report } = manifest;
  return { id: deliveryId(run, target, key), run, org, report, target, recipient };
}

/** Why a file is not given its name. */
export const fileConflictDetail = (path: string): string =>
  `${path} is there with other bytes; remove it, make the path differ, or write "overwrite: true".`;

/** Somebody's file has the name. */
export class FileConflictError extends Error {
  override readonly name = 'Taken';
}

/** Whether a target could not be opened because it, or a secret for it, is refused: trying again changes nothing. */
export const isTargetRefusal = (error: unknown): boolean =>
  error instanceof DocketError && (error.code === 'deliver.target_refused' || error.code === 'config.secret_refused');
