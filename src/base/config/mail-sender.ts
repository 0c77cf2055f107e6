import { z } from 'zod';

/** The sender of e-mails. */
export interface MailSender {
  /** Absent: the organization's name is shown. */
  readonly name?: string;
  readonly address: string;
}

const addressSchema = z.email();
const NAMED = /^(?<name>[^<>\p{Cc}]*)<(?<address>[^<>\s]+)>$/u;
const MAX_NAME_LENGTH = 100;

/**
 * Parses `reports@example.com`, or with a name, `Acme Compliance <reports@example.com>`. Undefined for anything else.
 */
export function parseMailSender(text: string): MailSender | undefined {
  const { name: written, address } = NAMED.exec(text.trim())?.groups ?? { name: undefined, address: text.trim() };
  if (address === undefined || !addressSchema.safeParse(address).success) return undefined;
  const name =
    written
      ?.trim()
      .replace(/^"(.*)"$/, '$1')
      .trim() ?? '';
  if (name.length > MAX_NAME_LENGTH || name.includes('"')) return undefined;
  return { address, ...(name === '' ? {} : { name }) };
}

/** The address in a sender that `readConfig` accepted. */
export const senderAddress = (text: string): string => parseMailSender(text)?.address ?? text;
