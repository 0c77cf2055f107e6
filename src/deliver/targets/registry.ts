import { type DeliverySpec, resolveTarget, targetName } from '../../definitions/schema/kinds.ts';
import type { Artifact } from '../../render/artifact.ts';
import { artifactBytes } from '../archive/run-folder/artifact-bytes.ts';
import { recipientKey } from '../send-decision.ts';
import { directoryTarget } from './directory/directory-target.ts';
import { encodeBase64 } from './email/email-message.ts';
import { emailTarget } from './email/email-target.ts';
import type { AnnouncedSize, Mailer } from './email/smtp/smtp-mailer.ts';
import { s3Target } from './s3/s3-target.ts';
import { sftpTarget } from './sftp/sftp-target.ts';
import { slackTarget } from './slack/slack-target.ts';
import type {
  Delivery,
  DeliveryContext,
  ListedDelivery,
  ProbeContext,
  SharedFiles,
  Target,
  TargetProbe,
} from './target.ts';
import { teamsTarget } from './teams/teams-target.ts';
import { webhookTarget } from './webhook/webhook-target.ts';

/** The built-in targets, in the order in which schema, documentation and messages list them. */
export const TARGETS: readonly Target[] = [
  emailTarget,
  directoryTarget,
  s3Target,
  sftpTarget,
  webhookTarget,
  slackTarget,
  teamsTarget,
];

/** The target kinds whose sent messages the archive keeps. */
export const messageKinds = (targets = TARGETS): ReadonlySet<string> =>
  new Set(targets.flatMap(({ kind, messageType }) => (messageType === undefined ? [] : [kind])));

/** The kind that archives messages of this file type; null if several do. @param name e.g. `<delivery>.eml` */
export function kindOfMessage(name: string, targets = TARGETS): string | null {
  const [first, ...others] = targets.filter(
    ({ messageType }) => messageType !== undefined && name.endsWith(`.${messageType}`),
  );
  return first === undefined || others.length > 0 ? null : first.kind;
}

/** All deliveries of the definition, in its order. */
export function listDeliveries(context: DeliveryContext, targets: readonly Target[] = TARGETS): Delivery[] {
  const all: Delivery[] = [];
  const files = sharedFiles();
  for (const [index, entry] of context.definition.deliveries.entries()) {
    const { target, spec } = resolveTarget(entry, targets);
    const name = targetName(index, target.kind, context.definition.desk);
    const add = (listed: readonly ListedDelivery[], of: typeof spec): void => {
      for (const each of listed) {
        const prepare = (previousEpoch: number) =>
          target.send(each, of, { ...context, deliveries: all, files }, previousEpoch);
        all.push({ ...each, prepare });
      }
    };
    const named = target.list(name, spec, context);
    const { chosen, corrected } = otherRecipients(name, named, context);
    const other = (recipients: readonly string[]) => target.addressedTo?.(spec, recipients) as typeof spec;
    const listOthers = (recipients: readonly string[]): readonly ListedDelivery[] =>
      recipients.length === 0 || target.addressedTo === undefined ? [] : target.list(name, other(recipients), context);
    const others = listOthers(chosen).map((each) => ({ ...each, row: { ...each.row, added: true as const } }));
    const isNew = ({ row }: ListedDelivery) => others.every(({ row: { id } }) => id !== row.id);
    add(named.filter(isNew), spec);
    for (const each of [...others, ...listOthers(corrected).filter(isNew)]) add([each], other([each.row.recipient]));
  }
  return all;
}

/**
 * The recipients of a target that the definition does not name. `chosen`: a person added them to the run, whatever its
 * conditions say. `corrected`: they were added to the edition that this run corrects.
 */
function otherRecipients(
  name: string,
  named: readonly ListedDelivery[],
  { additions = [], published: { manifest } }: Pick<DeliveryContext, 'additions' | 'published'>,
) {
  const known = new Set(named.map(({ row }) => recipientKey(row.recipient)));
  const { conditions = [], corrects } = manifest;
  return {
    chosen: additions.flatMap(({ target, recipient }) => (target === name ? recipient : [])),
    corrected: conditions.flatMap(({ target, recipient, send }) =>
      corrects !== undefined && send && target === name && recipient !== null && !known.has(recipient) ? recipient : [],
    ),
  };
}

/** The probe of a delivery; undefined for a target that `docket doctor` checks in another way. */
export function targetProbe(delivery: DeliverySpec, context: ProbeContext, targets = TARGETS): TargetProbe | undefined {
  const { target, spec } = resolveTarget(delivery, targets);
  return target.probe?.(spec, context);
}

/** Shares files that were read and encoded, for one call of `deliver`. */
export function sharedFiles(): SharedFiles {
  const read = new Map<Artifact, Promise<Buffer>>();
  const encoded = new Map<Uint8Array, Buffer>();
  const dates = new Map<string, Promise<Date>>();
  const sizes = new Map<Mailer, Promise<AnnouncedSize>>();
  return {
    bytesOf: (artifact) => {
      const found = read.get(artifact) ?? artifactBytes(artifact);
      read.set(artifact, found);
      return found;
    },
    dateOf: (message, find) => {
      const found = dates.get(message) ?? find();
      dates.set(message, found);
      return found;
    },
    announcedSize: async (mailer) => {
      const found = sizes.get(mailer) ?? mailer.announcedSize?.() ?? Promise.resolve({});
      sizes.set(mailer, found);
      return found;
    },
    encode: (bytes) => {
      const found = encoded.get(bytes) ?? encodeBase64(bytes);
      encoded.set(bytes, found);
      return found;
    },
  };
}
