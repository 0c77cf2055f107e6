import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
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
      const value = env[ref.env]?.trim();
      if (value) return found(value);
      throw new DocketError('config.secret_missing', `The environment variable ${ref.env} is not set.`, {
        where: ref.env,
        expected: 'a non-empty value',
        next: `Set ${ref.env} in the environment of the process, or point the reference elsewhere.`,
      });
    }
    try {
      const value = (await readFile(ref.file, 'utf8')).trim();
      if (value) return found(value);
    } catch (cause) {
      throw new DocketError('config.secret_missing', `The secret file ${ref.file} cannot be read.`, {
        where: ref.file,
        expected: 'a readable file that holds the secret',
        next: 'Create the file, or correct the path or its permissions.',
        cause,
      });
    }
    throw new DocketError('config.secret_missing', `The secret file ${ref.file} is empty.`, {
      where: ref.file,
      expected: 'a file that holds the secret',
      next: 'Write the secret into the file.',
    });
  };
  return Object.assign(look, { redactor });
}
