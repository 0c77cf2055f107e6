import { randomBytes } from 'node:crypto';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { parseDocument, stringify } from 'yaml';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { judgeBy, newToken, type TokenEntry, type Tokens, tokenEntrySchema } from './tokens.ts';

const MOST_BYTES = 1024 * 1024;
/** How long a change of the file may go unnoticed, ms. */
const FRESH_MS = 2_000;

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

/** The entries of the file; throws `config.invalid` naming it, never a hash. */
export async function readTokens(path: string): Promise<readonly TokenEntry[]> {
  let text: string;
  try {
    if ((await stat(path)).size > MOST_BYTES) throw invalid(path, `a file of more than ${MOST_BYTES} bytes`);
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof DocketError) throw error;
    throw invalid(path, isMissing(error) ? 'no such file' : String(error), error);
  }
  return parse(path, text);
}

function parse(path: string, text: string): readonly TokenEntry[] {
  const document = parseDocument(text);
  const fault = document.errors[0];
  if (fault !== undefined) throw invalid(path, fault.message.split('\n')[0] ?? 'YAML that cannot be read');
  const entries = fileSchema.safeParse(values(path, document) ?? []);
  if (!entries.success) throw invalid(path, z.prettifyError(entries.error), entries.error);
  return entries.data;
}

// An alias can make a small file huge, and no list of tokens needs one.
function values(path: string, document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    throw invalid(path, 'a YAML alias', error);
  }
}

/**
 * Makes a token, adds its hash to the file (which need not exist yet) and returns the token, which is kept nowhere.
 * Throws `config.invalid` when the file cannot be used or has an entry of this name.
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
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return '';
    throw invalid(path, String(error), error);
  });
  const kept = parse(path, text);
  const added = fileSchema.safeParse([
    ...kept,
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
      next: 'Choose another name, or remove the entry of the old token first.',
    });
  }
  const line = added.data.slice(-1);
  const document = parseDocument(text);
  if (document.contents !== null) document.add(document.createNode(line[0]));
  const written = document.contents === null ? `${text}${stringify(line)}` : document.toString();
  // A reader must never see half of it, and nobody else needs to.
  const beside = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    await writeFile(beside, written, { mode: 0o600, flag: 'wx' });
    await rename(beside, path);
  } catch (error) {
    throw new DocketError('config.invalid', 'The file of tokens cannot be written.', {
      where: path,
      got: String(error),
      next: 'Create its folder, or correct the rights.',
      cause: error,
    });
  }
  return token;
}

/**
 * Reads the file and follows it: an entry that is removed is refused within seconds, and its sessions end. A file that is broken later keeps its last good version and says so; one that is gone
 * accepts nobody. Throws `config.invalid` when it cannot be used at the start.
 */
export async function tokenFile(
  path: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<Tokens> {
  let entries = await readTokens(path);
  let version = await versionOf(path);
  let looked = clock.now();

  const refresh = async (): Promise<void> => {
    if (clock.now() - looked < FRESH_MS) return;
    looked = clock.now();
    const found = await versionOf(path);
    if (found === version) return;
    version = found;
    try {
      entries = found === undefined ? [] : await readTokens(path);
      log.info('The tokens of the admin route were read again', { path, count: entries.length });
    } catch (error) {
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

const versionOf = async (path: string): Promise<string | undefined> => {
  try {
    const { mtimeMs, size, ino } = await stat(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return undefined;
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
