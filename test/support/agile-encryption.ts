import { createDecipheriv, createHash, createHmac } from 'node:crypto';
import { CFB } from '@e965/xlsx';

/*
 * Decrypts a workbook with a password (agile encryption), step by step as MS-OFFCRYPTO §2.3.4.10 to §2.3.4.15
 * specifies. It shares no code with the encryption, so that no test opens a workbook with the code that encrypted it.
 */

const BLOCKS = {
  verifierInput: 'fea7d2763b4b9e79',
  verifierHash: 'd7aa0f6d3061344e',
  key: '146e0be7abacd0d6',
  hmacKey: '5fb2ad010cb9e1f6',
  hmacValue: 'a0677f02b22c8433',
} as const;

const sha512 = (...parts: readonly Buffer[]): Buffer => createHash('sha512').update(Buffer.concat(parts)).digest();
const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const decipher = (key: Buffer, iv: Buffer, bytes: Buffer): Buffer => {
  const aes = createDecipheriv('aes-256-cbc', key, iv).setAutoPadding(false);
  return Buffer.concat([aes.update(bytes), aes.final()]);
};

/** The workbook inside, or undefined if the password is wrong. Throws if a byte of it was changed. */
export function decryptWorkbook(file: Buffer, password: string): Buffer | undefined {
  const container = CFB.read(file, { type: 'buffer' });
  const stream = (name: string) => Buffer.from(CFB.find(container, name)?.content ?? []);
  const info = stream('/EncryptionInfo');
  if (info.readUInt16LE(0) !== 4 || info.readUInt16LE(2) !== 4) throw new Error('not agile encryption');
  const xml = info.subarray(8).toString('utf8');
  const tag = (name: string) => new RegExp(`<${name} [^>]*>`).exec(xml)?.[0] ?? '';
  const bytes = (of: string, attribute: string) =>
    Buffer.from(new RegExp(`\\b${attribute}="([^"]*)"`).exec(tag(of))?.[1] ?? '', 'base64');
  for (const of of ['keyData', 'p:encryptedKey']) {
    if (
      !/cipherAlgorithm="AES"/.test(tag(of)) ||
      !/keyBits="256"/.test(tag(of)) ||
      !/hashAlgorithm="SHA512"/.test(tag(of))
    )
      throw new Error(`another cipher in ${of}`);
  }
  const spins = Number(/spinCount="(\d+)"/.exec(xml)?.[1]);
  const salt = bytes('p:encryptedKey', 'saltValue');
  let hash = sha512(salt, Buffer.from(password, 'utf16le'));
  for (let spin = 0; spin < spins; spin += 1) hash = sha512(number(spin), hash);
  const open = (block: string, attribute: string) =>
    decipher(sha512(hash, Buffer.from(block, 'hex')).subarray(0, 32), salt, bytes('p:encryptedKey', attribute));
  const verifier = sha512(open(BLOCKS.verifierInput, 'encryptedVerifierHashInput'));
  if (!verifier.equals(open(BLOCKS.verifierHash, 'encryptedVerifierHashValue'))) return undefined;

  const key = open(BLOCKS.key, 'encryptedKeyValue');
  const keySalt = bytes('keyData', 'saltValue');
  const sealed = stream('/EncryptedPackage');
  const integrity = (block: string, attribute: string) =>
    decipher(key, sha512(keySalt, Buffer.from(block, 'hex')).subarray(0, 16), bytes('dataIntegrity', attribute));
  const seal = createHmac('sha512', integrity(BLOCKS.hmacKey, 'encryptedHmacKey')).update(sealed).digest();
  if (!seal.equals(integrity(BLOCKS.hmacValue, 'encryptedHmacValue'))) throw new Error('the seal does not fit');
  const segments: Buffer[] = [];
  for (let from = 8; from < sealed.length; from += 4096) {
    const iv = sha512(keySalt, number(segments.length)).subarray(0, 16);
    segments.push(decipher(key, iv, sealed.subarray(from, from + 4096)));
  }
  return Buffer.concat(segments).subarray(0, Number(sealed.readBigUInt64LE(0)));
}
