import { readFile, stat } from 'node:fs/promises';
import type { Document } from 'yaml';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { isErrno } from '../../base/errno.ts';
import { DocketError, errorMessage, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { parseYamlDocument, toPosition } from '../../definitions/yaml/source-file.ts';
import { checkStructure, stopDiagnostic } from '../../definitions/yaml/yaml-diagnostics.ts';

const MAX_FILE_BYTES = 1024 * 1024;
/** Ms until a change of the file is detected. */
const RELOAD_INTERVAL_MS = 2_000;

/** The format of a YAML list file that grants access: its schema and the texts of its errors. */
export interface YamlListFormat<Entry> {
  readonly schema: z.ZodType<readonly Entry[]>;
  /** E.g. `token file`. */
  readonly name: string;
  /** The shape of an entry, for error messages. */
  readonly expected: string;
  /** The advice for an invalid file. */
  readonly next: string;
  /** The advice for a missing file. */
  readonly nextIfMissing: string;
}

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** `config.invalid` for a file that cannot be read or parsed. */
export const invalidFile = (
  { name, expected, next }: Pick<YamlListFormat<unknown>, 'name' | 'expected' | 'next'>,
  path: string,
  got: string,
  cause?: unknown,
) => new DocketError('config.invalid', `The ${name} is invalid.`, { where: path, expected, got, next, cause });

function notPermitted({ name }: Pick<YamlListFormat<unknown>, 'name'>, path: string, cause: unknown): DocketError {
  const uid = process.getuid?.();
  return new DocketError('config.invalid', `The ${name} may not be read by the user of this process.`, {
    where: path,
    expected: `a file, and folders above it, that ${uid === undefined ? 'this user' : `the user ${uid}`} may read`,
    got: errorMessage(cause),
    next: `As root: \`chown ${uid ?? 'USER'} ${path}\`. A token file that root creates gets the owner of its folder.`,
    cause,
  });
}

/** The entries of the file. Throws `config.invalid` with its path, but never with values of an entry. */
export async function readYamlList<Entry>(path: string, format: YamlListFormat<Entry>): Promise<readonly Entry[]> {
  let text: string;
  try {
    if ((await stat(path)).size > MAX_FILE_BYTES)
      throw invalidFile(format, path, `a file of more than ${MAX_FILE_BYTES} bytes`);
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof DocketError) throw error;
    if (isErrno(error, 'EACCES', 'EPERM')) throw notPermitted(format, path, error);
    if (!isMissing(error)) throw invalidFile(format, path, String(error), error);
    throw new DocketError('config.invalid', `The ${format.name} does not exist.`, {
      where: path,
      got: 'no such file',
      next: format.nextIfMissing,
      cause: error,
    });
  }
  return parseYamlList(path, text, format);
}

/** Throws what `readYamlList` throws. */
export function parseYamlList<Entry>(path: string, text: string, format: YamlListFormat<Entry>): readonly Entry[] {
  const yaml = parseYamlDocument(path, text);
  // The error must not quote values: one may be a token. Reporting the first error is enough, because all entries have
  // the same shape.
  const [error] = [...yaml.document.errors, ...yaml.document.warnings];
  if (error !== undefined) {
    const { line } = toPosition(yaml.source, error.pos[0]);
    throw invalidFile(format, path, `a YAML error (${error.code}) in line ${line}`);
  }
  const fault = stopDiagnostic(yaml) ?? checkStructure(yaml).diagnostics[0];
  if (fault !== undefined)
    throw invalidFile(format, path, `${fault.got} in line ${fault.line}, which takes ${fault.expected}`);
  const entries = format.schema.safeParse(values(path, yaml.document, format) ?? []);
  if (!entries.success) throw invalidFile(format, path, z.prettifyError(entries.error), entries.error);
  return entries.data;
}

// Aliases are not allowed: they can make a small file huge.
function values(path: string, document: Document, format: YamlListFormat<unknown>): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    throw invalidFile(format, path, 'a YAML alias', error);
  }
}

export interface WatchOptions<Entry> {
  readonly clock: Clock;
  readonly log: Log;
  /** Called after a change, with the entries before and after. */
  readonly onChange: (before: readonly Entry[], after: readonly Entry[]) => void;
}

/**
 * Reads the file and watches it. Returns a function for its current entries. A missing file has no entries. If the file
 * becomes invalid, its last good version stays active and the log gets an error. Throws `config.invalid` for an invalid
 * file at the start.
 */
export async function watchYamlList<Entry>(
  path: string,
  format: YamlListFormat<Entry>,
  { clock, log, onChange }: WatchOptions<Entry>,
): Promise<() => Promise<readonly Entry[]>> {
  // Read the version first, so that a change in between is detected.
  let version = await readFileVersion(path);
  let entries = version === undefined ? [] : await readYamlList(path, format);
  let looked = clock.now();
  let failed: string | undefined;
  return async () => {
    if (clock.now() - looked < RELOAD_INTERVAL_MS) return entries;
    looked = clock.now();
    const found = await readFileVersion(path);
    if (found === version) return entries;
    try {
      const read = found === undefined ? [] : await readYamlList(path, format);
      onChange(entries, read);
      entries = read;
      version = found;
      failed = undefined;
    } catch (error) {
      // Retry each time, but log only once.
      if (failed === found) return entries;
      failed = found;
      log.error(
        `${format.name.charAt(0).toUpperCase()}${format.name.slice(1)} cannot be read; the last good version stays active`,
        {
          path,
          error: toDocketError(error).toJSON(),
        },
      );
    }
    return entries;
  };
}

/** Undefined if there is no file. An inaccessible file counts as present: reading it then reports the error. */
const readFileVersion = async (path: string): Promise<string | undefined> => {
  try {
    const { mtimeMs, size, ino } = await stat(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch (error) {
    return isMissing(error) ? undefined : String(error);
  }
};
