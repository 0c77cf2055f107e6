import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { type Document, parseDocument, stringify } from 'yaml';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { readYaml } from '../../define/source.ts';
import { structureOf, syntaxFaults } from '../../define/yaml-faults.ts';
import { judgeBy, newToken, type TokenEntry, type Tokens, tokenEntrySchema } from './tokens.ts';

const MOST_BYTES = 1024 * 1024;
/** How long a change of the file may go unnoticed, ms. */
const FRESH_MS = 2_000;
/** How often, and ms in between, a change waits for another one to be over. */
const LOCK_TRIES = 20;
const LOCK_PAUSE_MS = 100;

const fileSchema = z.array(tokenEntrySchema).superRefine((entries, context) => {
  const names = new Set<string>();
  entries.forEach(({ name }, index) => {
    if (names.has(name))
      context.addIssue({ code: 'custom', path: [index, 'name'], message: `a name of its own, not "${name}" again` });
    names.add(name);
  });
});

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

const invalid = (path: string, got: string, cause?: unknown) =>
  new DocketError('config.invalid', `The file of the admin route's tokens cannot be used.`, {
    where: path,
    expected: 'a YAML list of { name, sha256, role, orgs, expires? }',
    got,
    next: 'Correct it, or move it away and run `docket tokens create`.',
    cause,
  });

const missing = (path: string, cause: unknown) =>
  new DocketError('config.invalid', `The file of the admin route's tokens does not exist.`, {
    where: path,
    got: 'no such file',
    next: `${MAKE_ONE} Or correct DOCKET_ADMIN_TOKENS.`,
    cause,
  });

/** How somebody is let in. */
const MAKE_ONE = 'Run `docket tokens create --name NAME --role operator`, which makes the file.';

/** The entries of the file; throws `config.invalid` naming it, never a hash. */
export async function readTokens(path: string): Promise<readonly TokenEntry[]> {
  let text: string;
  try {
    if ((await stat(path)).size > MOST_BYTES) throw invalid(path, `a file of more than ${MOST_BYTES} bytes`);
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof DocketError) throw error;
    throw isMissing(error) ? missing(path, error) : invalid(path, String(error), error);
  }
  return parse(path, text);
}

function parse(path: string, text: string): readonly TokenEntry[] {
  const yaml = readYaml(path, text);
  const fault = syntaxFaults(yaml)[0] ?? structureOf(yaml).faults[0];
  // Of what it says of a value nothing: it may be a token.
  if (fault !== undefined) throw invalid(path, `${fault.got} in line ${fault.line}, which takes ${fault.expected}`);
  const entries = fileSchema.safeParse(values(path, yaml.document) ?? []);
  if (!entries.success) throw invalid(path, z.prettifyError(entries.error), entries.error);
  return entries.data;
}

// An alias can make a small file huge, and no list of tokens needs one.
function values(path: string, document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    throw invalid(path, 'a YAML alias', error);
  }
}

/**
 * Makes a token, adds its hash to the file (which need not exist yet) and returns the token, which is kept nowhere.
 * Throws `config.invalid` when the file cannot be used, `usage.invalid` when it has an entry of this name.
 */
export async function addToken(
  path: string,
  entry: {
    readonly name: string;
    readonly role: TokenEntry['role'];
    readonly orgs: TokenEntry['orgs'];
    readonly expires?: string | undefined;
  },
): Promise<string> {
  const { token, sha256 } = newToken();
  await changeFile(path, (text) => {
    const added = fileSchema.safeParse([
      ...parse(path, text),
      {
        name: entry.name,
        sha256,
        role: entry.role,
        orgs: entry.orgs,
        ...(entry.expires === undefined ? {} : { expires: entry.expires }),
      },
    ]);
    if (!added.success) {
      throw new DocketError('usage.invalid', 'The token cannot be made.', {
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
 * Takes a token's entry out of the file and returns it. Running processes refuse the token within seconds, and end its
 * sessions. Throws `config.invalid` when the file cannot be used, `usage.invalid` when it has no entry of this name.
 */
export async function revokeToken(path: string, name: string): Promise<TokenEntry> {
  let revoked: TokenEntry | undefined;
  await changeFile(path, (text) => {
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
 * Writes what `change` makes of the file's text (empty when there is none; undefined: nothing to do). Two changes at a time
 * would lose one of them – a revocation, at worst –, so one waits; a reader never sees half of it.
 */
async function changeFile(path: string, change: (text: string) => string | undefined): Promise<void> {
  const unlock = await lock(path);
  try {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      if (isMissing(error)) return '';
      throw invalid(path, String(error), error);
    });
    const written = change(text);
    if (written !== undefined) await replaceFile(path, written);
  } finally {
    await unlock();
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  const beside = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    const before = await stat(path).catch(() => undefined);
    const file = await open(beside, 'wx', 0o600);
    try {
      await file.writeFile(text);
      if (before !== undefined) {
        // The process that reads it may be another user's than the shell that changes it, or of a group.
        await file.chmod((before.mode & 0o660) | 0o600);
        if (before.uid !== process.getuid?.()) await file.chown(before.uid, before.gid);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw unwritable(path, error);
  }
}

const unwritable = (path: string, error: unknown) =>
  new DocketError('config.invalid', 'The file of tokens cannot be written.', {
    where: path,
    got: String(error),
    next: 'Create its folder, or correct the rights: whoever changes it has to be its owner, or root.',
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
      if (tries === LOCK_TRIES) {
        throw new DocketError('config.invalid', 'Another command is changing the file of tokens.', {
          where: path,
          got: `${held} is there`,
          next: 'Try again; remove that file if no other command runs.',
          cause: error,
        });
      }
      await setTimeout(LOCK_PAUSE_MS);
    }
  }
}

/**
 * Reads the file and follows it: an entry that is removed is refused within seconds, and its sessions end. A file that is
 * broken later keeps its last good version and says so; one that is gone, or not there yet, accepts nobody. Throws
 * `config.invalid` when it cannot be used at the start.
 */
export async function tokenFile(
  path: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<Tokens> {
  // The version first: what changes in between is then read again.
  let version = await versionOf(path);
  let entries = version === undefined ? [] : await readTokens(path);
  let looked = clock.now();
  let failed: string | undefined;
  if (entries.length === 0) {
    log.warn('The admin route lets nobody in yet: run `docket tokens create --name NAME --role operator`', { path });
  }
  if (version !== undefined && ((await stat(path)).mode & 0o007) !== 0) {
    log.warn('Others may read or write the file of tokens: run `chmod o= FILE`', { path });
  }

  const refresh = async (): Promise<void> => {
    if (clock.now() - looked < FRESH_MS) return;
    looked = clock.now();
    const found = await versionOf(path);
    if (found === version) return;
    try {
      const read = found === undefined ? [] : await readTokens(path);
      const names = (of: readonly TokenEntry[], less: readonly TokenEntry[]) =>
        of.filter(({ sha256 }) => !less.some((other) => other.sha256 === sha256)).map(({ name }) => name);
      for (const who of names(entries, read)) log.info('A token is not accepted any more', { path, who });
      for (const who of names(read, entries)) log.info('A token is accepted from now on', { path, who });
      entries = read;
      version = found;
      failed = undefined;
    } catch (error) {
      // Asked again each time, for it may pass; told once.
      if (failed === found) return;
      failed = found;
      log.error('The tokens of the admin route cannot be read; the last good version stays', {
        path,
        error: toDocketError(error).toJSON(),
      });
    }
  };
  const current = async () => {
    await refresh();
    return entries;
  };
  return judgeBy(current, () => clock.now());
}

/** Undefined when there is no such file; one that cannot be looked at is there, and reading it says why it cannot be. */
const versionOf = async (path: string): Promise<string | undefined> => {
  try {
    const { mtimeMs, size, ino } = await stat(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch (error) {
    return isMissing(error) ? undefined : String(error);
  }
};

/** No file was named: nobody is let in. Says at the start how to make one. */
export function noTokens(log: Log): Tokens {
  log.warn(
    'The admin route lets nobody in: set DOCKET_ADMIN_TOKENS to a file and run `docket tokens create --name NAME --role operator`.',
  );
  return judgeBy(
    async () => [],
    () => 0,
  );
}
