import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { isErrno } from '../../base/errno.ts';
import { DocketError, errorMessage } from '../../base/error.ts';
import { Secret } from '../../base/secrets/secret.ts';
import { generateSigningKey, parseSigningKey, type SigningKey } from '../../deliver/archive/chain/signing-key.ts';
import type { CommandIo } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';

const OWNER_ONLY_MODE = 0o600;

/**
 * Creates the key that signs the archive, and its public part beside it (`….pub`). An existing key is replaced; its public
 * part stays in the `.pub` file, so that what it signed stays trusted.
 */
export async function initSigningKey(
  path: string,
  { json = false }: { readonly json?: boolean },
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const before = await readExistingKey(path);
  const { pem, publicPem } = generateSigningKey(before);
  const publicPath = `${path}.pub`;
  try {
    if (before === undefined) await writeFile(path, pem, { flag: 'wx', mode: OWNER_ONLY_MODE });
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
  print.printLine(`written  ${path}${before === undefined ? '' : ' (replaces the existing key)'}`);
  print.printLine(`written  ${publicPath}`);
  print.printLine(
    `\nNext:\n  ${variable}   for every worker, the admin role and commands that decide; restart them\n  store ${publicPath} elsewhere, for docket archive verify --public-key`,
  );
}

async function readExistingKey(path: string): Promise<SigningKey | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw new DocketError('usage.invalid', 'The signing key cannot be read.', {
      where: path,
      got: errorMessage(error),
      next: 'Correct the path or its permissions.',
    });
  }
  return parseSigningKey(new Secret(text), path);
}

/** A half-written key would sign nothing, and the previous key would be lost. */
async function replaceFileAtomically(path: string, text: string): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  try {
    await writeFile(part, text, { flag: 'wx', mode: OWNER_ONLY_MODE, flush: true });
    await rename(part, path);
  } finally {
    await rm(part, { force: true });
  }
}
