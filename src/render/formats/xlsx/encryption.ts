import { readFile, rm, writeFile } from 'node:fs/promises';
import { DocketError } from '../../../base/error.ts';

/** Excel's limit, in UTF-16 units. */
const MAX_PASSWORD_LENGTH = 255;

/**
 * Encrypts the workbook that `write` creates, like `encryptFile`.
 * @returns what `write` returns
 */
export async function writeEncrypted<T>(
  path: string,
  password: string,
  write: (path: string) => Promise<T>,
): Promise<T> {
  const plain = `${path}.readable`;
  try {
    await rm(plain, { force: true });
    const written = await write(plain);
    await encryptFile(plain, path, password);
    return written;
  } finally {
    await rm(plain, { force: true });
  }
}

/**
 * Encrypts a workbook with a password (agile encryption, MS-OFFCRYPTO §2.3.4.10: AES-256, SHA-512, 100,000 rounds), so
 * that Excel and LibreOffice can open it. Several copies of the file are in memory. The salts are random, so each
 * result differs. `to` must not exist. Throws `config.invalid` for a password longer than Excel accepts.
 */
export async function encryptFile(from: string, to: string, password: string): Promise<void> {
  if (password.length > MAX_PASSWORD_LENGTH) {
    throw new DocketError('config.invalid', 'The workbook password is too long for Excel.', {
      expected: `at most ${MAX_PASSWORD_LENGTH} characters`,
      got: `${password.length} characters`,
      next: 'Choose a shorter password.',
    });
  }
  const { encrypt } = (await import('officecrypto-tool')).default;
  await writeFile(to, encrypt(await readFile(from), { password }), { flag: 'wx' });
}
