import type { Clock } from '../base/clock.ts';
import type { SecretSource } from '../base/secret.ts';
import type { TemplateVariables } from '../base/template.ts';
import type { OrgSettings } from '../define/org.ts';
import type { Archive, Manifest, Sealed } from './archive.ts';
import type { Leave, Proof } from './attempt.ts';
import type { DestinationPolicy } from './destination-guard.ts';
import { deliveryId, type Ledger, type NewDelivery } from './ledger.ts';
import type { SharedLink } from './shelf.ts';

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
  readonly prepare: (before: number) => Promise<Leave>;
  /** What the target itself shows of a row that was left `sending`. */
  readonly proof?: () => Promise<Proof>;
  /** Where each file is once this is `sent`, by the file's name. */
  readonly links?: () => ReadonlyMap<string, string>;
  /** Links that open for whoever has them, once this is `sent`, by the file's name; without those that cannot be made. */
  readonly shared?: () => Promise<ReadonlyMap<string, SharedLink>>;
  /** Tells of deliveries of an earlier turn, and so goes after them: 0, the default, to 2. */
  readonly turn?: 1 | 2;
}

/** What deliveries of every kind are made from. */
export interface PlaceContext {
  readonly settings: OrgSettings;
  readonly sealed: Sealed;
  readonly archive: Archive;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly secrets: SecretSource;
  readonly workingDirectory: string;
  /** What the deployment says of destinations; what the organization says of them holds without it, too. */
  readonly destinations?: DestinationPolicy | undefined;
}

/** The variables of subjects and paths. */
export const variablesOf = ({ period, org, report, title, run }: Manifest): TemplateVariables => ({
  period,
  org,
  report,
  title,
  run,
});

/** `key` tells rows of one target apart where the recipient, which is for people, may change. */
export function rowOf({ manifest }: Sealed, target: string, recipient: string, key = recipient): NewDelivery {
  const { run, org, report } = manifest;
  return { id: deliveryId(run, target, key), run, org, report, target, recipient };
}
