import { readFile, writeFile } from 'node:fs/promises';
import { DocketError } from '../../base/error.ts';

/** Excel's limit, in UTF-16 units. */
const MAX_PASSWORD = 255;

/**
 * Encrypts a workbook so that Excel and LibreOffice ask for the password (agile encryption, MS-OFFCRYPTO §2.3.4.10:
 * AES-256, SHA-512, 100,000 rounds). The whole file is held in memory, a few times over; its salts are random, so the
 * same workbook gives other bytes each time. `to` must not exist.
 * Throws `config.invalid` for a password longer than Excel takes.
 */
export async function encryptFile(from: string, to: string, password: string): Promise<void> {
  if (password.length > MAX_PASSWORD) {
    throw new DocketError('config.invalid', 'The password of the workbook is longer than Excel takes.', {
      expected: `at most ${MAX_PASSWORD} characters`,
      got: `${password.length} characters`,
      next: 'Choose a shorter password.',
    });
  }
  const { encrypt } = (await import('officecrypto-tool')).default;
  await writeFile(to, encrypt(await readFile(from), { password }), { flag: 'wx' });
}
