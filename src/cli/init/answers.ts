import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { DocketError } from '../../base/error.ts';
import { readRedisUrl } from '../../base/redis-url.ts';
import type { SecretRef } from '../../base/secret.ts';
import { canonicalAddress } from '../../define/recipients.ts';
import { looksLikeSecret } from '../../define/secret-value.ts';
import { ID, ID_WORDS } from '../../define/words.ts';
import { isZone } from '../../define/zone.ts';

/** The reports that `docket init` knows. */
export const FIRST_REPORTS = ['weekly', 'monthly', 'both'] as const;
export type FirstReport = (typeof FIRST_REPORTS)[number];

/** Everything that the first organization and its reports are written from. No secret is among it. */
export interface Answers {
  /** Base URL of the Compliance Service. */
  readonly url: string;
  readonly key: SecretRef;
  /** The organization's folder. */
  readonly org: string;
  /** How reports name it; absent: the folder. */
  readonly name?: string;
  readonly serviceOrg: number | 'current';
  readonly timezone: string;
  /** At least one. */
  readonly to: readonly string[];
  /** What the allow-list gets: the addresses, or their domains. */
  readonly allow: 'address' | 'domain';
  readonly owner: string;
  readonly report: FirstReport;
  /** Without a password. */
  readonly smtpUrl?: string;
  readonly mailFrom?: string;
  /** Without a password. */
  readonly redisUrl?: string;
}

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** What is wrong with an answer, as a sentence for whoever gave it. It never repeats what may be a secret. */
export type Look = (text: string) => string | undefined;

const PASTED =
  'That looks like a key itself. Docket writes down where a key is, never the key: set it in the environment (export NAME=…) or save it in a file, and give the name here. If it is in the history of your shell now, remove it there.';

export const urlFault: Look = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return 'A URL is needed, e.g. https://api.example.com';
  if (url.username !== '' || url.password !== '')
    return 'No user or password in the URL: the key is all that is shown.';
  return url.search === '' && url.hash === '' ? undefined : 'The base URL alone, without "?" and "#".';
};

export const keyEnvFault: Look = (text) => {
  if (looksLikeSecret(text)) return PASTED;
  if (ENV_NAME.test(text)) return undefined;
  return text.includes('.') || text.length > 64
    ? PASTED
    : 'The name of an environment variable: letters, digits and "_", e.g. ACME_API_KEY';
};

export const keyFileFault: Look = (text) => {
  if (text.trim() === '') return 'The path of the file that holds the key.';
  return looksLikeSecret(text) ? PASTED : undefined;
};

export const orgFault: Look = (text) => (ID.test(text) ? undefined : `A short name of ${ID_WORDS}, e.g. acme`);

export const zoneFault: Look = (text) => (isZone(text) ? undefined : 'An IANA time zone such as Europe/Zurich or UTC');

export const addressFault: Look = (text) =>
  canonicalAddress(text) === undefined ? 'A plain e-mail address, e.g. lead@acme.example' : undefined;

/** Owners and senders are read more strictly than recipients: no signs that only machines have in their names. */
export const ownerFault: Look = (text) =>
  addressFault(text) ??
  (z.email().safeParse(text).success ? undefined : 'A usual e-mail address, e.g. ops@acme.example');

/** Several addresses with commas or spaces. */
export const splitAddresses = (text: string): string[] => text.split(/[\s,;]+/).filter(Boolean);

export const addressesFault: Look = (text) => {
  const all = splitAddresses(text);
  if (all.length === 0) return 'At least one address.';
  return all.map(addressFault).find((fault) => fault !== undefined);
};

export const smtpFault: Look = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^smtps?:$/.test(url.protocol) || url.hostname === '')
    return 'smtp://host:port or smtps://host:port';
  if (url.password === '' && url.username === '') return undefined;
  return 'No user or password here, since this is written into a file: set SMTP_URL in the environment instead.';
};

/** A Redis without a login, which alone may be written down. */
export const redisFault: Look = (text) =>
  typeof readRedisUrl(text) === 'string' || /@/.test(text) ? 'A Redis URL without user and password' : undefined;

export const serviceOrgFault: Look = (text) =>
  text === 'current' || (/^[1-9]\d{0,14}$/.test(text) && Number.isSafeInteger(Number(text)))
    ? undefined
    : 'The organization’s number at the API, or current';

/** An answer that was given as a flag. Throws `usage.invalid`, which does not repeat it where it may be a secret. */
export function flagAnswer(flag: string, text: string, look: Look): string {
  const fault = look(text);
  if (fault === undefined) return text;
  const safe = look !== keyEnvFault && look !== keyFileFault && look !== smtpFault && look !== urlFault;
  throw new DocketError('usage.invalid', `${flag} is not usable. ${fault}${/[.!]$/.test(fault) ? '' : '.'}`, {
    where: flag,
    ...(safe ? { got: JSON.stringify(text.slice(0, 80)) } : {}),
    next: 'See `docket init --help`.',
  });
}

/** `Acme Payments` → `acme-payments`; undefined where nothing of it can be in a folder's name. */
export function idOf(name: string): string | undefined {
  const id = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40)
    .replace(/-+$/, '');
  return ID.test(id) ? id : undefined;
}

/** The variable that most likely holds the key: the only `…_API_KEY` there is. */
export function likelyKeyVariable(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const names = Object.keys(env).filter((name) => /_API_KEY$/.test(name) && ENV_NAME.test(name) && env[name]?.trim());
  return names.length === 1 ? names[0] : undefined;
}

/** Whether the reference leads to something; a file that is empty counts as nothing. */
export async function isSet(ref: SecretRef, env: Readonly<Record<string, string | undefined>>): Promise<boolean> {
  if ('env' in ref) return Boolean(env[ref.env]?.trim());
  return await stat(ref.file).then(
    (found) => found.isFile() && found.size > 0,
    () => false,
  );
}

/** What to do so that the key is there, as commands that can be typed. */
export const howToSet = (ref: SecretRef): string =>
  'env' in ref
    ? `export ${ref.env}='…'        # the key itself, between the quotes`
    : `(umask 077; cat > ${quoteForShell(ref.file)})        # paste the key, Enter, Ctrl-D`;

/** A word for a POSIX shell; as it is where nothing in it means anything to one. */
export const quoteForShell = (word: string): string =>
  /^[\w@%+=:,./?-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
