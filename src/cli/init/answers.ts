import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { parseRedisUrl } from '../../base/config/redis-url.ts';
import { DocketError } from '../../base/error.ts';
import type { SecretRef } from '../../base/secrets/secret.ts';
import { canonicalAddress } from '../../definitions/allow-lists/recipients.ts';
import { ID_DESCRIPTION, ID_PATTERN, isZone } from '../../definitions/schema/values/primitives.ts';
import { looksLikeSecret } from '../../definitions/yaml/secret-detection.ts';
import type { Environment } from '../io.ts';

/** The reports that `docket init` can create. */
export const STARTER_REPORTS = ['weekly', 'monthly', 'both'] as const;
export type StarterReport = (typeof STARTER_REPORTS)[number];
export const isStarterReport = (text: string): text is StarterReport =>
  (STARTER_REPORTS as readonly string[]).includes(text);

/** Everything needed to generate the first organization and its reports. Contains no secrets. */
export interface Answers {
  /** Base URL of the Compliance Service. */
  readonly url: string;
  readonly key: SecretRef;
  /** The organization's folder. */
  readonly org: string;
  /** The name in reports. Absent: the name of the folder. */
  readonly name?: string | undefined;
  readonly serviceOrg: number | 'current';
  readonly timezone: string;
  /** At least one address. */
  readonly to: readonly string[];
  /** What the allow-list contains: the addresses, or their domains. */
  readonly allow: 'address' | 'domain';
  readonly owner: string;
  readonly report: StarterReport;
  /** Without a password. */
  readonly smtpUrl?: string | undefined;
  readonly mailFrom?: string | undefined;
  /** Without a password. */
  readonly redisUrl?: string | undefined;
}

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Returns what is wrong with an answer, or undefined. The text never quotes the answer, which may be a secret. */
export type Validate = (text: string) => string | undefined;

const PASTED_KEY_MESSAGE =
  'That looks like a key itself. Docket stores where a key is, never the key itself: set the key in the environment (export NAME=…) or save it in a file, and give that name here. If your shell has recorded the key in its history, remove it there.';

export const validateUrl: Validate = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return 'Enter a URL, e.g. https://api.example.com';
  if (url.username !== '' || url.password !== '') return 'The URL must not contain a user or password.';
  return url.search === '' && url.hash === '' ? undefined : 'Enter only the base URL, without "?" and "#".';
};

export const validateKeyEnv: Validate = (text) => {
  if (looksLikeSecret(text)) return PASTED_KEY_MESSAGE;
  if (ENV_NAME.test(text)) return undefined;
  return text.includes('.') || text.length > 64
    ? PASTED_KEY_MESSAGE
    : 'The name of an environment variable: letters, digits and "_", e.g. ACME_API_KEY';
};

export const validateKeyFile: Validate = (text) => {
  if (text.trim() === '') return 'The path of the file that contains the key.';
  return looksLikeSecret(text) ? PASTED_KEY_MESSAGE : undefined;
};

export const validateOrgId: Validate = (text) =>
  ID_PATTERN.test(text) ? undefined : `A short name of ${ID_DESCRIPTION}, e.g. acme`;

export const validateTimezone: Validate = (text) =>
  isZone(text) ? undefined : 'An IANA time zone such as Europe/Zurich or UTC';

const validateAddress: Validate = (text) =>
  canonicalAddress(text) === undefined ? 'A plain e-mail address, e.g. lead@acme.example' : undefined;

/** Stricter than for recipients, because owners and senders are validated as ordinary e-mail addresses. */
export const validateOwner: Validate = (text) =>
  validateAddress(text) ??
  (z.email().safeParse(text).success ? undefined : 'An ordinary e-mail address, e.g. ops@acme.example');

/** Splits a list of addresses at commas or spaces. */
export const splitAddresses = (text: string): string[] => text.split(/[\s,;]+/).filter(Boolean);

export const validateAddresses: Validate = (text) => {
  const all = splitAddresses(text);
  if (all.length === 0) return 'Enter at least one address.';
  return all.map(validateAddress).find((problem) => problem !== undefined);
};

export const validateSmtpUrl: Validate = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^smtps?:$/.test(url.protocol) || url.hostname === '')
    return 'smtp://host:port or smtps://host:port';
  if (url.password === '' && url.username === '') return undefined;
  return 'Leave out user and password, because the URL is written into a file. Set SMTP_URL in the environment instead.';
};

/** The URL is written into a file, so it must not contain a user or password. */
export const validateRedisUrl: Validate = (text) =>
  typeof parseRedisUrl(text) === 'string' || /@/.test(text) ? 'A Redis URL without user and password' : undefined;

export const validateServiceOrg: Validate = (text) =>
  text === 'current' || (/^[1-9]\d{0,14}$/.test(text) && Number.isSafeInteger(Number(text)))
    ? undefined
    : 'The organization’s number at the API, or current';

const MAY_BE_SECRET: readonly Validate[] = [validateKeyEnv, validateKeyFile, validateSmtpUrl, validateUrl];

/** The validated answer of a flag. Throws `usage.invalid`, without quoting an answer that may be a secret. */
export function validatedFlag(flag: string, text: string, validate: Validate): string {
  const problem = validate(text);
  if (problem === undefined) return text;
  const safe = !MAY_BE_SECRET.includes(validate);
  throw new DocketError('usage.invalid', `Invalid value. ${problem}${/[.!]$/.test(problem) ? '' : '.'}`, {
    where: flag,
    ...(safe ? { got: JSON.stringify(text.slice(0, 80)) } : {}),
    next: 'See `docket init --help`.',
  });
}

/** `Acme Payments` → `acme-payments`; undefined if no valid id remains. */
export function idFromName(name: string): string | undefined {
  const id = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40)
    .replace(/-+$/, '');
  return ID_PATTERN.test(id) ? id : undefined;
}

/** The only variable named `…_API_KEY`, which most likely contains the key. */
export function guessKeyVariable(env: Environment): string | undefined {
  const names = Object.keys(env).filter((name) => /_API_KEY$/.test(name) && ENV_NAME.test(name) && env[name]?.trim());
  return names.length === 1 ? names[0] : undefined;
}

/** Whether the variable or the file exists and is not empty. */
export async function isSecretSet(ref: SecretRef, env: Environment): Promise<boolean> {
  if ('env' in ref) return Boolean(env[ref.env]?.trim());
  return await stat(ref.file).then(
    (found) => found.isFile() && found.size > 0,
    () => false,
  );
}

/** Shell commands that set the key. */
export const secretSetupCommand = (ref: SecretRef): string =>
  'env' in ref
    ? `export ${ref.env}='…'        # the key itself, between the quotes`
    : `(umask 077; cat > ${quoteForShell(ref.file)})        # paste the key, Enter, Ctrl-D`;

/** A word for a POSIX shell, quoted only if needed. */
export const quoteForShell = (word: string): string =>
  /^[\w@%+=:,./?-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
