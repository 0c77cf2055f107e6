import { createPrivateKey, type KeyObject } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { DocketError } from '../../../base/error.ts';
import type { Secret } from '../../../base/secrets/secret.ts';

/** Signs e-mails with DKIM (RFC 6376). The public key is published at `<selector>._domainkey.<domain>`. */
export interface DkimKey {
  readonly domain: string;
  readonly selector: string;
  readonly key: KeyObject;
}

/** RFC 8301 §3.2: receivers ignore signatures of shorter keys. */
const MIN_KEY_BITS = 1024;

/**
 * Parses a private RSA key in PEM form. Throws `config.invalid` for anything else, so that no e-mail is sent unsigned
 * by accident.
 */
export function parseDkimKey(pem: Secret, where: string): KeyObject {
  const invalid = (got: string) =>
    new DocketError('config.invalid', 'The DKIM key cannot be used.', {
      where,
      expected: `an RSA private key of at least ${MIN_KEY_BITS} bits, in PEM form`,
      got,
      next: 'Correct the secret that smtp.dkim.key in org.yaml, or SMTP_DKIM_KEY_FILE, refers to.',
    });
  let key: KeyObject;
  try {
    key = createPrivateKey(pem.reveal());
  } catch {
    throw invalid('something else (not shown)');
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType !== 'rsa') throw invalid(`a key of type ${key.asymmetricKeyType}`);
  if (bits < MIN_KEY_BITS) throw invalid(`${bits} bits`);
  return key;
}

/**
 * Adds a signature header to the message. Deterministic: RSA with PKCS #1 v1.5 and no timestamp. Throws
 * `internal.defect`.
 */
export async function signMessage(raw: Uint8Array, { domain, selector, key }: DkimKey): Promise<Uint8Array> {
  const { default: DKIM } = await import('nodemailer/lib/dkim');
  const signer = new DKIM({ domainName: domain, keySelector: selector, privateKey: key });
  const signed = await buffer(signer.sign(Buffer.from(raw)));
  // nodemailer leaves out the signature when signing fails.
  if (signed.subarray(0, 15).toString('latin1') === 'DKIM-Signature:') return signed;
  throw new DocketError('internal.defect', 'The message could not be signed, and was not sent.', {
    next: 'This is a defect of Docket: please report it.',
  });
}
