import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts texts for storage where others may read and write. */
export interface Seal {
  /** @returns base64url */
  seal(text: string): string;
  /** Undefined for a text that this key did not seal, or that was changed. */
  open(sealed: string): string | undefined;
}

/**
 * Authenticated encryption (AES-256-GCM) under a key that is derived from both secrets (HKDF-SHA-256): neither is enough to
 * read or to forge a text.
 *
 * @param secret of this deployment
 * @param own of the one text, e.g. the id of a session: 128 random bits or more
 * @param purpose keys of different purposes are unrelated
 */
export function createSeal(secret: string, own: string, purpose: string): Seal {
  const key = Buffer.from(hkdfSync('sha256', JSON.stringify([secret, own]), '', purpose, 32));
  return {
    seal: (text) => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, iv);
      const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return sealed.toString('base64url');
    },
    open: (sealed) => {
      const bytes = Buffer.from(sealed, 'base64url');
      if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        return decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
      } catch {
        return undefined;
      }
    },
  };
}
