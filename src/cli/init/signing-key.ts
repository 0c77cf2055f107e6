import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { isErrno } from '../../base/errno.ts';
import { DocketError, errorMessage } from '../../base/error.ts';
import { Secret } from '../../base/secrets/secret.ts';
import {
  generateAfterLoss,
  generateSigningKey,
  parseSigningKey,
  type SigningKey,
} from '../../deliver/archive/chain/signing-key.ts';
import type { CommandIo } from '../io.ts';
import { parseReason } from '../options/actor.ts';
import { createPrinter } from '../terminal/print.ts';

const OWNER_ONLY_MODE = 0o600;

/**
 * Creates the key that signs the archive, and its public part in a file beside it (`….pub`). Replaces an existing key,
 * whose public part stays in the `.pub` file, so that its signatures remain trusted.
 *
 * @param flags `lostKey`: why the private key is lost; the new key then follows the last one in the `.pub` file
 */
export async function initSigningKey(
  path: string,
  { json = false, lostKey }: { readonly json?: boolean; readonly lostKey?: string },
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const publicPath = `${path}.pub`;
  const before = lostKey === undefined ? await readExistingKey(path) : undefined;
  const { pem, publicPem } =
    lostKey === undefined
      ? generateSigningKey(before)
      : generateAfterLoss(await readPublicPartOfLost(path), publicPath, parseReason(lostKey, '--lost-key'));
  try {
    if (before === undefined && lostKey === undefined)
      await writeFile(path, pem, { flag: 'wx', mode: OWNER_ONLY_MODE });
    else await replaceFileAtomically(path, pem);
    await replaceFileAtomically(publicPath, publicPem);
    await chmod(publicPath, 0o644);
  } catch (cause) {
    throw new DocketError('usage.invalid', 'The signing key cannot be written.', {
      where: path,
      got: errorMessage(cause),
      next: 'Correct the path or its permissions.',
    });
  }
  const variable = `DOCKET_SIGNING_KEY=file:${path}`;
  if (json) return print.printJson({ key: path, public_key: publicPath, variable, rotated: before !== undefined });
  const replaced =
    lostKey === undefined ? (before === undefined ? '' : ' (replaces the existing key)') : ' (replaces the lost key)';
  print.printLine(`written  ${path}${replaced}`);
  print.printLine(`written  ${publicPath}`);
  print.printLine(
    `\nNext:\n  ${variable}   for every worker, the admin role and commands that decide; restart them\n  store ${publicPath} elsewhere, for docket archive verify --public-key`,
  );
}

async function readExistingKey(path: string): Promise<SigningKey | undefined> {
  const text = await readIfPresent(path);
  return text === undefined ? undefined : parseSigningKey(new Secret(text), path);
}

/** Throws `usage.invalid` if the private key still exists, or its public part does not. */
async function readPublicPartOfLost(path: string): Promise<string> {
  // A damaged file counts as a lost key.
  const text = await readIfPresent(path);
  if (text !== undefined && isSigningKey(text, path)) {
    throw new DocketError('usage.invalid', 'The signing key is not lost.', {
      where: path,
      expected: 'a private key that cannot be read',
      next: 'Leave out --lost-key: the old key then hands over to the new one. This also ends the use of a stolen key.',
    });
  }
  const publicPem = await readIfPresent(`${path}.pub`);
  if (publicPem !== undefined) return publicPem;
  throw new DocketError('usage.invalid', 'The public part of the lost key is missing.', {
    where: `${path}.pub`,
    expected: 'the .pub file of the lost key, so that what it signed stays trusted',
    next: 'Copy it from where you keep it for `docket archive verify`. The folder .keys of the archive has a copy, which proves nothing.',
  });
}

function isSigningKey(text: string, path: string): boolean {
  try {
    parseSigningKey(new Secret(text), path);
    return true;
  } catch {
    return false;
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw new DocketError('usage.invalid', 'The signing key cannot be read.', {
      where: path,
      got: errorMessage(error),
      next: 'Correct the path or its permissions.',
    });
  }
}

/** A half-written file would be no usable key, and the previous key would be lost. */
async function replaceFileAtomically(path: string, text: string): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  try {
    await writeFile(part, text, { flag: 'wx', mode: OWNER_ONLY_MODE, flush: true });
    await rename(part, path);
  } finally {
    await rm(part, { force: true });
  }
}
