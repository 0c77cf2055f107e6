import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { DocketError, errorMessage } from '../../base/error.ts';
import { Secret } from '../../base/secrets/secret.ts';
import { generateSigningKey, parseSigningKey, type SigningKey } from '../../deliver/archive/chain/signing-key.ts';
import { printJson, printLine } from '../terminal/print.ts';

const OWNER_ONLY_MODE = 0o600;

/**
 * Makes the key that signs the archive, and its public part beside it (`….pub`). A key that is there already is followed by
 * the new one, which keeps its public part: what it signed stays trusted.
 */
export async function initSigningKey(path: string, { json = false }: { readonly json?: boolean }): Promise<void> {
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
  if (json) return printJson({ key: path, public_key: publicPath, variable, rotated: before !== undefined });
  printLine(`written  ${path}${before === undefined ? '' : ', in place of the key that was there'}`);
  printLine(`written  ${publicPath}`);
  printLine(
    `\nNext:\n  ${variable}   for every worker, the admin role and commands that decide; start them again\n  keep ${publicPath} elsewhere, for docket archive verify --public-key`,
  );
}

async function readExistingKey(path: string): Promise<SigningKey | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new DocketError('usage.invalid', 'The signing key cannot be read.', {
      where: path,
      got: errorMessage(error),
      next: 'Correct the path or its permissions.',
    });
  }
  return parseSigningKey(new Secret(text), path);
}

/** Whole or not at all: a key that is half written signs nothing, and the one before would be gone. */
async function replaceFileAtomically(path: string, text: string): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  try {
    await writeFile(part, text, { flag: 'wx', mode: OWNER_ONLY_MODE, flush: true });
    await rename(part, path);
  } finally {
    await rm(part, { force: true });
  }
}
