import { createPrivateKey, type KeyObject } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import DKIM from 'nodemailer/lib/dkim';
import { DocketError } from '../base/error.ts';
import type { Secret } from '../base/secret.ts';

/** Who vouches for a message, as RFC 6376 says it: the key is published at `<selector>._domainkey.<domain>`. */
export interface DkimKey {
  readonly domain: string;
  readonly selector: string;
  readonly key: KeyObject;
}

/** RFC 8301 §3.2: receivers take a signature of a shorter key for none. */
const LEAST_BITS = 1024;

/** A private key in PEM form. Throws `config.invalid` for any other than RSA: a mail must not leave unsigned by accident. */
export function readDkimKey(pem: Secret, where: string): KeyObject {
  const fault = (got: string) =>
    new DocketError('config.invalid', 'The key of the DKIM signature cannot be used.', {
      where,
      expected: `an RSA private key of at least ${LEAST_BITS} bits, in PEM form`,
      got,
      next: 'Correct the secret that smtp.dkim.key in org.yaml, or SMTP_DKIM_KEY_FILE, refers to.',
    });
  let key: KeyObject;
  try {
    key = createPrivateKey(pem.reveal());
  } catch {
    throw fault('something else (not shown)');
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType !== 'rsa') throw fault(`a key of type ${key.asymmetricKeyType}`);
  if (bits < LEAST_BITS) throw fault(`${bits} bits`);
  return key;
}

/** The message with its signature in front; the same message and key make the same bytes (RSA with PKCS #1 v1.5, no time). */
export async function signMessage(raw: Uint8Array, { domain, selector, key }: DkimKey): Promise<Uint8Array> {
  const signer = new DKIM({ domainName: domain, keySelector: selector, privateKey: key });
  const signed = await buffer(signer.sign(Buffer.from(raw)));
  // nodemailer leaves the signature out where the key fails.
  if (signed.subarray(0, 15).toString('latin1') === 'DKIM-Signature:') return signed;
  throw new DocketError('internal.defect', 'The message could not be signed, and was not sent.', {
    next: 'This is a defect of Docket: please report it.',
  });
}
