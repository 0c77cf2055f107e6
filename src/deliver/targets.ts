import type { Definition } from '../define/definition.ts';
import type { Delivery, PlaceContext } from './delivery.ts';
import type { DkimKey } from './dkim.ts';
import { emailDeliveries } from './email-target.ts';
import type { Mailer } from './mailer.ts';
import { directoryDelivery, s3Delivery, sftpDelivery, webhookDelivery } from './places.ts';

/** How an organization's e-mail leaves: its own server, or the deployment's. */
export interface MailRoute {
  readonly mailer: Mailer;
  /** The sender's address. */
  readonly from: string;
  /** Signs every message. */
  readonly dkim?: DkimKey;
  /** The server, named without secrets: routes of one server go down together, whoever uses them. */
  readonly service?: string;
}

export interface DeliveryContext extends PlaceContext {
  readonly definition: Definition;
  readonly mail: MailRoute | undefined;
}

/** Every delivery of the definition, in its order; a mailbox that a target names twice gets one message. */
export function listDeliveries(context: DeliveryContext): Delivery[] {
  const all: Delivery[] = context.definition.deliveries.flatMap(({ email, directory, s3, sftp, webhook }, index) => {
    if (email !== undefined) return emailDeliveries(`${index}-email`, email, context, () => all);
    if (directory !== undefined) return [directoryDelivery(`${index}-directory`, directory, context)];
    if (s3 !== undefined) return [s3Delivery(`${index}-s3`, s3, context)];
    if (sftp !== undefined) return [sftpDelivery(`${index}-sftp`, sftp, context)];
    if (webhook !== undefined) return [webhookDelivery(`${index}-webhook`, webhook, context, () => all)];
    return [];
  });
  return all;
}
