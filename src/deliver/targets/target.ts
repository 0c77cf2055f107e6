import type { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import type { SecretSource } from '../../base/secrets/secret.ts';
import type { TemplateVariables } from '../../base/text/template.ts';
import type { TargetSchema } from '../../definitions/schema/kinds.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import type { Artifact } from '../../render/artifact.ts';
import type { Archive, Manifest, PublishedRun } from '../archive/archive.ts';
import type { SharedLink } from '../archive/storage/archive-storage.ts';
import type { SendFn, VerificationResult } from '../attempt.ts';
import type { DenyList } from '../denials/deny-list.ts';
import type { DestinationGuard, DestinationPolicy } from '../destination-guard.ts';
import { deliveryId, type Ledger, type NewDelivery } from '../ledger/ledger.ts';
import type { DkimKey } from './email/dkim.ts';
import type { AnnouncedSize, Mailer } from './email/smtp/smtp-mailer.ts';

/** Everything that Docket knows about one kind of target. `Spec` is the output of its schema. */
export interface Target<Spec = never> extends TargetSchema<Spec> {
  /**
   * Words for counting the recipients in texts. Absent: deliveries stay on this machine, and do not count when a report
   * is about to be delivered again for the same period.
   */
  readonly audience?: {
    readonly one: string;
    readonly many: string;
    /** The recipients are people, each with a mailbox. */
    readonly people?: true;
  };
  /** The file type of the messages that the archive keeps; absent if the target sends none. */
  readonly messageType?: 'eml' | 'json';
  /**
   * The target sends through a mail server: SMTP_URL or the organization's own. `docket doctor` checks the server
   * instead.
   */
  readonly usesMailServer?: true;
  /**
   * Lists the deliveries of one entry of `deliveries`. Sends nothing, and never throws for a template that cannot be
   * filled.
   */
  list(target: string, spec: Spec, context: DeliveryContext): readonly ListedDelivery[];
  /** The same delivery for other recipients, with one message each. Absent if recipients cannot be chosen. */
  addressedTo?(spec: Spec, recipients: readonly string[]): unknown;
  /**
   * Archives the message, if there is one, and returns the function that sends it. Throws `deliver.*` for a permanently
   * refused delivery.
   * @param previousEpoch the row's epoch before this attempt; at 0 no message was archived yet
   */
  send(delivery: ListedDelivery, spec: Spec, context: SendContext, previousEpoch: number): Promise<SendFn>;
  /** Tests the target without a delivery. Absent if `docket doctor` has its own check. */
  probe?(spec: Spec, context: ProbeContext): TargetProbe;
}

/** Connects a target's methods with the output of its schema. */
export const defineTarget = <Schema extends z.ZodType>(
  target: Omit<Target<z.output<Schema>>, 'schema'> & { schema(formats: readonly string[]): Schema },
): Target => target;

/** One delivery of a definition, as its target lists it. */
export interface ListedDelivery {
  readonly row: NewDelivery;
  /** The server or service that it needs. All deliveries of one service fail while it is down. */
  readonly service: string;
  readonly messageId: string | null;
  /** Why the recipient must not receive it, as the end of a sentence; undefined if it may. */
  readonly recipientRefusal?: () => string | undefined;
  /** Checks, in the target, whether a row left in `sending` was delivered. */
  readonly verify?: () => Promise<VerificationResult>;
  /** Where each file is once this is `sent`, by file name. */
  readonly fileLocations?: () => ReadonlyMap<string, string>;
  /**
   * Set if the locations are URLs that an e-mail can link to. An e-mail whose attachments are too large then waits for
   * this delivery.
   */
  readonly linkable?: true;
  /** Links, by file name, that open without credentials once this is `sent`. Leaves out links that cannot be made. */
  readonly sharedLinks?: () => Promise<ReadonlyMap<string, SharedLink>>;
  /** Deliveries of a later phase refer to results of earlier phases. Default 0. */
  readonly phase?: 1 | 2;
}

/** One delivery of a definition: its ledger row, and the function that prepares it. */
export interface Delivery extends ListedDelivery {
  /** `Target.send` of its target. */
  readonly prepare: (previousEpoch: number) => Promise<SendFn>;
}

/** The SMTP route of an organization: its own server, or the deployment's. */
export interface MailRoute {
  readonly mailer: Mailer;
  /** The sender's address. */
  readonly from: string;
  /** The sender's name. */
  readonly fromName?: string;
  /** Signs every message. */
  readonly dkim?: DkimKey;
  /** The server's name without secrets. All organizations' routes through one server fail together. */
  readonly service?: string;
}

export interface DeliveryContext {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  readonly published: PublishedRun;
  readonly archive: Archive;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly secrets: SecretSource;
  readonly workingDirectory: string;
  /** Undefined: no mail server is configured. */
  readonly mail: MailRoute | undefined;
  /** The deployment's rules for destinations. An organization's own rules always apply as well. */
  readonly destinations?: DestinationPolicy | undefined;
  /** Base URL of the page, without a slash at its end; undefined: messages have no link to it. */
  readonly publicUrl?: string | undefined;
  /** Recipients who get nothing, and whom no message to others names. Absent: nobody is denied. */
  readonly denyList?: DenyList | undefined;
  /** Recipients that people added to the run. Absent: none. */
  readonly additions?: readonly AddedRecipient[] | undefined;
}

/** A recipient that a person added to a target of the definition. */
export type AddedRecipient = Pick<NewDelivery, 'target' | 'recipient'>;

export interface SendContext extends DeliveryContext {
  /** All deliveries of the definition. */
  readonly deliveries: readonly Delivery[];
  /** Files that the messages of one call share: read, verified and encoded once. */
  readonly files: SharedFiles;
}

export interface SharedFiles {
  /** Throws `archive.corrupt`, `archive.unreachable`. */
  bytesOf(artifact: Artifact): Promise<Buffer>;
  /** The date of a message that several deliveries share. The first of them finds it. */
  dateOf(message: string, find: () => Promise<Date>): Promise<Date>;
  /** The result of `Mailer.announcedSize`, requested once. */
  announcedSize(mailer: Mailer): Promise<AnnouncedSize>;
  /** Base64 in lines. Returns the same buffer for the same bytes. */
  encode(bytes: Uint8Array): Buffer;
}

export interface ProbeContext {
  /** The variables that a run of today would have. */
  readonly variables: TemplateVariables;
  readonly secrets: SecretSource;
  readonly allowPrivate: boolean;
  readonly guard: DestinationGuard;
  readonly workingDirectory: string;
}

export interface TargetProbe {
  /** For people, e.g. `S3 s3://reports/acme/`. */
  readonly name: string;
  /**
   * Does everything that a delivery needs, and leaves nothing behind. Resolves with a sentence about the result. Throws
   * `deliver.target_failed`, `deliver.target_refused`, `config.*`, `template.invalid`.
   */
  readonly probe: () => Promise<string>;
}

export const probeError = (subject: string, got: string, next: string): DocketError =>
  new DocketError('deliver.target_failed', `${subject} cannot be used.`, { got, next });

/** The usual range of the first headline's figure; empty without one. */
function headlineRange(ranges: NonNullable<Manifest['ranges']>) {
  const { low = '', high = '', state = '' } = ranges.find(({ headline }) => headline === 0) ?? {};
  return { low, high, state };
}

/** The variables of subjects and paths. */
export const templateVariables = ({
  period,
  org,
  report,
  title,
  run,
  headlines = [],
  ranges = [],
  desk,
}: Manifest): TemplateVariables => ({
  period,
  org,
  report,
  title,
  run,
  ...(desk === undefined ? {} : { split: desk }),
  headline: headlines[0] ?? '',
  headlines,
  headline_range: headlineRange(headlines.length === 0 ? [] : ranges),
});

/** @param key identifies the row among those of its target, because `recipient` is for people and may change */
export function newRow({ manifest }: PublishedRun, target: string, recipient: string, key = recipient): NewDelivery {
  const { run, org, report } = manifest;
  return { id: deliveryId(run, target, key), run, org, report, target, recipient };
}

/** Whether a target could not be opened because it, or a secret for it, is refused: retrying changes nothing. */
export const isTargetRefusal = (error: unknown): boolean =>
  error instanceof DocketError && (error.code === 'deliver.target_refused' || error.code === 'config.secret_refused');
