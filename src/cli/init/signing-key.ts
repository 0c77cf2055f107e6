import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { DocketError, wordsOf } from '../../base/error.ts';
import { Secret } from '../../base/secret.ts';
import { makeSigningKey, readSigningKey, type SigningKey } from '../../deliver/signing-key.ts';
import { printJson, printLine } from '../print.ts';

const ONLY_OWNER = 0o600;

/**
 * Makes the key that signs the archive, and its public part beside it (`….pub`). A key that is there already is followed by
 * the new one, which keeps its public part: what it signed stays trusted.
 */
export async function initSigningKey(path: string, { json = false }: { readonly json?: boolean }): Promise<void> {
  const before = await existing(path);
  const { pem, publicPem } = makeSigningKey(before);
  const publicPath = `${path}.pub`;
  try {
    if (before === undefined) await writeFile(path, pem, { flag: 'wx', mode: ONLY_OWNER });
    else await replace(path, pem);
    await replace(publicPath, publicPem);
    await chmod(publicPath, 0o644);
  } catch (cause) {
    throw new DocketError('usage.invalid', 'The signing key cannot be written.', {
      where: path,
      got: wordsOf(cause),
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

async function existing(path: string): Promise<SigningKey | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new DocketError('usage.invalid', 'The signing key cannot be read.', {
      where: path,
      got: wordsOf(error),
      next: 'Correct the path or its permissions.',
    });
  }
  return readSigningKey(new Secret(text), path);
}

/** Whole or not at all: a key that is half written signs nothing, and the one before would be gone. */
async function replace(path: string, text: string): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  try {
    await writeFile(part, text, { flag: 'wx', mode: ONLY_OWNER, flush: true });
    await rename(part, path);
  } finally {
    await rm(part, { force: true });
  }
}
