import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { inspect } from 'node:util';
import { z } from 'zod';
import { DocketError } from '../error.ts';
import { sha256 } from '../sha256.ts';
import { ensureRedactor, type Redactor } from './redactor.ts';

/** A reference to a secret, the only form in which definitions, jobs and records contain one. */
export const secretRefSchema = z
  .union(
    [
      z.strictObject({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable') }),
      z.strictObject({ file: z.string().min(1, 'the path of a file') }),
    ],
    { error: 'a reference to a secret, { env: NAME } or { file: PATH }' },
  )
  .describe('A reference to a secret: { env: NAME } or { file: PATH }. Never the secret itself.');
export type SecretRef = z.infer<typeof secretRefSchema>;

/** Parses `env:NAME` and `file:PATH`; undefined for anything else. */
export function parseSecretRef(text: string): SecretRef | undefined {
  const [, kind, where = ''] = /^(env|file):(.+)$/.exec(text) ?? [];
  return kind === undefined ? undefined : secretRefSchema.safeParse({ [kind]: where }).data;
}

/** A secret's value. When logged, serialised or inspected, it prints as `[secret]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value. Call it only where the value is sent. */
  reveal(): string {
    return this.#value;
  }

  /** Identifies the secret without revealing it: 16 hex digits of SHA-256. The rate limiter's queues use it as key. */
  fingerprint(): string {
    return sha256(`docket:${this.#value}`).slice(0, 16);
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}

export interface SecretSource {
  /** Resolves a reference. Throws `config.secret_missing` with the reference, and never a value. */
  (ref: SecretRef): Promise<Secret>;
  /** Knows every resolved value, and removes it from text from outside. */
  readonly redactor: Redactor;
}

/**
 * More than any key, certificate or service account needs. Limited because every text is searched for all forms of a
 * secret.
 */
const MAX_SECRET_BYTES = 64 * 1024;

/** @param known the process's redactor, which registers each value before it is returned. Default: a new one */
export function secretSource(
  env: Readonly<Record<string, string | undefined>>,
  known: Partial<Redactor> = {},
): SecretSource {
  const redactor = ensureRedactor(known);
  const found = (value: string): Secret => {
    redactor.registerSecret(value);
    return new Secret(value);
  };
  const resolve = async (ref: SecretRef): Promise<Secret> => {
    if ('env' in ref) {
      const text = env[ref.env] ?? '';
      if (Buffer.byteLength(text) > MAX_SECRET_BYTES) throw tooLong(`environment variable ${ref.env}`, ref.env);
      const value = text.trim();
      if (value) return found(value);
      throw new DocketError('config.secret_missing', `The environment variable ${ref.env} is not set.`, {
        where: ref.env,
        expected: 'a non-empty value',
        next: `Set ${ref.env} in the environment of the process, or point the reference elsewhere.`,
      });
    }
    const value = (await readSecretFile(ref.file)).trim();
    if (value) return found(value);
    throw new DocketError('config.secret_missing', `The secret file ${ref.file} is empty.`, {
      where: ref.file,
      expected: 'a file that holds the secret',
      next: 'Write the secret into the file.',
    });
  };
  return Object.assign(resolve, { redactor });
}

const tooLong = (what: string, where: string): DocketError =>
  new DocketError('config.secret_missing', `The ${what} is too large for a secret.`, {
    where,
    expected: `at most ${MAX_SECRET_BYTES} bytes`,
    got: 'more',
    next: 'Use a reference to a file or variable with the secret alone.',
  });

/** Reads a limited part of a regular file: a report may name any path, even devices and pipes. */
async function readSecretFile(path: string): Promise<string> {
  try {
    // Non-blocking, because opening a pipe would wait for a writer.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (!(await file.stat()).isFile()) throw notRegular(path);
      // The reported size is not used: the file may grow, and some file systems report 0.
      const bytes = Buffer.alloc(MAX_SECRET_BYTES + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length < bytes.length; length += read) {
        read = (await file.read(bytes, length, bytes.length - length)).bytesRead;
      }
      if (length > MAX_SECRET_BYTES) throw tooLong(`secret file ${path}`, path);
      return bytes.toString('utf8', 0, length);
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (cause instanceof DocketError) throw cause;
    throw new DocketError('config.secret_missing', `The secret file ${path} cannot be read.`, {
      where: path,
      expected: 'a readable file that holds the secret',
      next: 'Create the file, or correct the path or its permissions.',
      cause,
    });
  }
}

const notRegular = (path: string): DocketError =>
  new DocketError('config.secret_missing', `The secret file ${path} is not a regular file.`, {
    where: path,
    expected: 'a regular file that holds the secret',
    got: 'a folder, a pipe or a device',
    next: 'Write the secret into a file, and set the reference to it.',
  });
