import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseDocument, stringify } from 'yaml';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { createTokenVerifier, newToken, type TokenEntry, type TokenVerifier, tokenEntrySchema } from './tokens.ts';
import {
  invalidFile,
  isMissing,
  parseYamlList,
  readYamlList,
  watchYamlList,
  type YamlListFormat,
} from './yaml-list-file.ts';

/** How many times, and at which interval in ms, a change retries while another one holds the lock. */
const MAX_LOCK_ATTEMPTS = 20;
const LOCK_RETRY_INTERVAL_MS = 100;

const fileSchema = z.array(tokenEntrySchema).superRefine((entries, context) => {
  const names = new Set<string>();
  entries.forEach(({ name }, index) => {
    if (names.has(name))
      context.addIssue({ code: 'custom', path: [index, 'name'], message: `a unique name; "${name}" is taken` });
    names.add(name);
  });
});

const CREATE_TOKEN_HINT = 'Run `docket tokens create --name NAME --role operator`, which makes the file.';

const FORMAT: YamlListFormat<TokenEntry> = {
  schema: fileSchema,
  name: 'token file',
  expected: 'a YAML list of { name, sha256, role, orgs, expires? }',
  next: 'Correct it, or move it away and run `docket tokens create`.',
  nextIfMissing: `${CREATE_TOKEN_HINT} Or correct DOCKET_ADMIN_TOKENS.`,
};

const parse = (path: string, text: string): readonly TokenEntry[] => parseYamlList(path, text, FORMAT);

/** The entries of the file. Throws `config.invalid` with its path, never with a hash. */
export const readTokens = (path: string): Promise<readonly TokenEntry[]> => readYamlList(path, FORMAT);

/**
 * Creates a token, adds its hash to the file (creating it if needed) and returns the token, which is not stored
 * anywhere. Throws `config.invalid` for an invalid file, `usage.invalid` if the name exists.
 */
export async function addToken(path: string, entry: Omit<TokenEntry, 'sha256'>): Promise<string> {
  const { token, sha256 } = newToken();
  await updateFile(path, (text) => {
    const added = fileSchema.safeParse([...parse(path, text), { ...entry, sha256 }]);
    if (!added.success) {
      throw new DocketError('usage.invalid', 'The token cannot be created.', {
        where: path,
        expected: 'a new name, a role, organizations or "*", and a date YYYY-MM-DD if it expires',
        got: z.prettifyError(added.error),
        next: 'Choose another name, or run `docket tokens revoke` for the old token first.',
      });
    }
    const line = added.data.slice(-1);
    const document = parseDocument(text);
    if (document.contents === null) return `${text}${stringify(line)}`;
    document.add(document.createNode(line[0]));
    return document.toString();
  });
  return token;
}

/**
 * Removes the entry of a token and returns it. Running processes reject the token within seconds, and end its sessions.
 * Throws `config.invalid` for an invalid file, `usage.invalid` for an unknown name.
 */
export async function revokeToken(path: string, name: string): Promise<TokenEntry> {
  let revoked: TokenEntry | undefined;
  await updateFile(path, (text) => {
    const entries = parse(path, text);
    const index = entries.findIndex((entry) => entry.name === name);
    revoked = entries[index];
    const document = parseDocument(text);
    document.deleteIn([index]);
    return revoked === undefined ? undefined : document.toString();
  });
  if (revoked !== undefined) return revoked;
  throw new DocketError('usage.invalid', `There is no token "${name.slice(0, 100)}".`, {
    where: path,
    expected: 'the name of an entry of the file',
    next: 'See `docket tokens list`.',
  });
}

/**
 * Applies `change` to the text of the file under a lock, so that no change, e.g. a revocation, is lost. The replacement
 * is atomic. `change` gets an empty text if there is no file, and returns undefined to change nothing.
 */
async function updateFile(path: string, change: (text: string) => string | undefined): Promise<void> {
  const unlock = await lock(path);
  try {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      if (isMissing(error)) return '';
      throw invalidFile(FORMAT, path, String(error), error);
    });
    const written = change(text);
    if (written !== undefined) await replaceFile(path, written);
  } finally {
    await unlock();
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  const temporaryPath = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    const before = await stat(path).catch(() => undefined);
    const file = await open(temporaryPath, 'wx', 0o600);
    try {
      await file.writeFile(text);
      if (before !== undefined) {
        // The process that reads the file may run as another user, or have access through the group.
        await file.chmod((before.mode & 0o660) | 0o600);
        const uid = process.getuid?.();
        if (before.uid !== uid || uid === 0) await file.chown(before.uid, before.gid);
      } else if (process.getuid?.() === 0) {
        // Root creates the file for the service's user: the owner of the folder, or its group if root owns the folder.
        const folder = await stat(dirname(path));
        await file.chown(folder.uid, folder.gid);
        if (folder.uid === 0 && folder.gid !== 0) await file.chmod(0o640);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporaryPath, path);
  } catch (error) {
    await rm(temporaryPath, { force: true });
    throw unwritable(path, error);
  }
}

const unwritable = (path: string, error: unknown) =>
  new DocketError('config.invalid', 'The token file cannot be written.', {
    where: path,
    got: String(error),
    next: 'Create its folder, or correct the permissions: run the command as the owner of the file, or as root.',
    cause: error,
  });

async function lock(path: string): Promise<() => Promise<void>> {
  const held = `${path}.lock`;
  for (let tries = 0; ; tries += 1) {
    try {
      await (await open(held, 'wx', 0o600)).close();
      return () => rm(held, { force: true });
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw unwritable(path, error);
      if (tries === MAX_LOCK_ATTEMPTS) {
        throw new DocketError('config.invalid', 'Another command is changing the token file.', {
          where: path,
          got: `the lock file ${held}`,
          next: 'Try again. If no other command runs, remove the lock file.',
          cause: error,
        });
      }
      await setTimeout(LOCK_RETRY_INTERVAL_MS);
    }
  }
}

/**
 * Reads the file and watches it. Tokens of removed entries are rejected within seconds, and their sessions end. If the file
 * becomes invalid, its last good version stays active, with an error in the log; without a file no token is accepted.
 * Throws `config.invalid` for an invalid file at the start.
 */
export async function watchTokenFile(
  path: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<TokenVerifier> {
  const names = (of: readonly TokenEntry[], less: readonly TokenEntry[]) =>
    of.filter(({ sha256 }) => !less.some((other) => other.sha256 === sha256)).map(({ name }) => name);
  const current = await watchYamlList(path, FORMAT, {
    clock,
    log,
    onChange: (before, after) => {
      for (const who of names(before, after)) log.info('Token removed', { path, who });
      for (const who of names(after, before)) log.info('Token added', { path, who });
    },
  });
  if ((await current()).length === 0) {
    log.warn('The admin route accepts no tokens yet: run `docket tokens create --name NAME --role operator`', { path });
  }
  const file = await stat(path).catch(() => undefined);
  if (file !== undefined && (file.mode & 0o007) !== 0) {
    log.warn('The token file is accessible to all users: run `chmod o= FILE`', { path });
  }
  return createTokenVerifier(current, () => clock.now());
}

/**
 * A verifier without a token file: it accepts no token. @param log gets a hint how to create one; absent if accounts
 * can sign in
 */
export function noTokens(log?: Log): TokenVerifier {
  log?.warn(
    'The admin route rejects every request: set DOCKET_ADMIN_TOKENS to a file and run `docket tokens create --name NAME --role operator`.',
  );
  return createTokenVerifier(
    async () => [],
    () => 0,
  );
}
