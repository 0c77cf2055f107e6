import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { inspect } from 'node:util';
import { z } from 'zod';
import { DocketError } from './error.ts';
import { type Redactor, redactorOf } from './redactor.ts';

/** Where a secret is, never what it is: the only form in which definitions, jobs and records may carry one. */
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

/** A secret's value, which prints as `[secret]` wherever it may be logged, serialised or inspected by accident. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself. Call it at the last moment, where it goes onto the wire. */
  reveal(): string {
    return this.#value;
  }

  /** Names the secret without telling it: 16 hex digits of SHA-256. The budget's lines are keyed by this. */
  fingerprint(): string {
    return createHash('sha256').update(`docket:${this.#value}`).digest('hex').slice(0, 16);
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
  /** Looks a reference up. Throws `config.secret_missing` naming the reference, never a value. */
  (ref: SecretRef): Promise<Secret>;
  /** Knows every value that was looked up: whoever shows one to a peer takes it out of what the peer says. */
  readonly redactor: Redactor;
}

/** Bytes. No key, certificate or service account comes near, and every form of a secret is looked for in every text. */
const MAX_SECRET_BYTES = 64 * 1024;

/** @param known the redactor of the process: it learns each value before anybody has it. One of its own when absent */
export function secretSource(
  env: Readonly<Record<string, string | undefined>>,
  known: Partial<Redactor> = {},
): SecretSource {
  const redactor = redactorOf(known);
  const found = (value: string): Secret => {
    redactor.learn(value);
    return new Secret(value);
  };
  const look = async (ref: SecretRef): Promise<Secret> => {
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
    const value = (await fileText(ref.file)).trim();
    if (value) return found(value);
    throw new DocketError('config.secret_missing', `The secret file ${ref.file} is empty.`, {
      where: ref.file,
      expected: 'a file that holds the secret',
      next: 'Write the secret into the file.',
    });
  };
  return Object.assign(look, { redactor });
}

const tooLong = (what: string, where: string): DocketError =>
  new DocketError('config.secret_missing', `The ${what} is too large for a secret.`, {
    where,
    expected: `at most ${MAX_SECRET_BYTES} bytes`,
    got: 'more',
    next: 'Point the reference to what holds the secret alone.',
  });

/** Ends whatever the path names: a report may name any, also a device that never ends or a pipe that nobody writes to. */
async function fileText(path: string): Promise<string> {
  try {
    // Of a pipe, opening it would wait for a writer.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (!(await file.stat()).isFile()) throw notRegular(path);
      // The size that it tells is not asked: it may grow, and some file systems say 0.
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
  new DocketError('config.secret_missing', `The secret file ${path} is no regular file.`, {
    where: path,
    expected: 'a regular file that holds the secret',
    got: 'a folder, a pipe or a device',
    next: 'Write the secret into a file, and point the reference to it.',
  });
