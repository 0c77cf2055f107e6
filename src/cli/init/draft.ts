import { DocketError } from '../../base/error.ts';
import type { SecretRef } from '../../base/secrets/secret.ts';
import { canonicalAddress } from '../../definitions/allow-lists/recipients.ts';
import {
  type Answers,
  guessKeyVariable,
  idFromName,
  type StarterReport,
  splitAddresses,
  validateAddresses,
  validatedFlag,
  validateKeyEnv,
  validateKeyFile,
  validateOrgId,
  validateOwner,
  validateRedisUrl,
  validateServiceOrg,
  validateSmtpUrl,
  validateTimezone,
  validateUrl,
} from './answers.ts';
import type { ServiceInfo } from './query-service.ts';

/** The answers so far. */
export type Draft = { readonly [Name in keyof Answers]?: Answers[Name] | undefined };

/** `docket init`'s flags as commander hands them over. */
export interface InitFlags {
  readonly url?: string;
  readonly keyEnv?: string;
  readonly keyFile?: string;
  readonly org?: string;
  readonly serviceOrg?: string;
  readonly timezone?: string;
  readonly to?: readonly string[];
  readonly allow?: 'address' | 'domain';
  readonly owner?: string;
  readonly report?: StarterReport;
  readonly smtpUrl?: string;
  readonly mailFrom?: string;
  readonly yes?: boolean;
  readonly offline?: boolean;
  readonly json?: boolean;
}

const plain = (address: string): string => canonicalAddress(address) ?? address;

export const parseServiceOrg = (text: string): number | 'current' => (text === 'current' ? text : Number(text));

export const parseAddresses = (text: string): readonly string[] => [...new Set(splitAddresses(text).map(plain))];

/** What the flags answer. Throws `usage.invalid` for the first that is not usable. */
export function draftFromFlags(flags: InitFlags): Draft {
  const { url, keyEnv, keyFile, org, serviceOrg, timezone, to, allow, owner, report, smtpUrl, mailFrom } = flags;
  const given = <T, R>(value: T | undefined, read: (value: T) => R): R | undefined =>
    value === undefined ? undefined : read(value);
  return {
    url: given(url, (text) => validatedFlag('--url', text, validateUrl)),
    key:
      given(keyEnv, (text): SecretRef => ({ env: validatedFlag('--key-env', text, validateKeyEnv) })) ??
      given(keyFile, (text): SecretRef => ({ file: validatedFlag('--key-file', text, validateKeyFile) })),
    org: given(org, (text) => validatedFlag('--org', text, validateOrgId)),
    serviceOrg: given(serviceOrg, (text) => parseServiceOrg(validatedFlag('--service-org', text, validateServiceOrg))),
    timezone: given(timezone, (text) => validatedFlag('--timezone', text, validateTimezone)),
    to: given(to, (texts) => parseAddresses(validatedFlag('--to', texts.join(' '), validateAddresses))),
    allow,
    owner: given(owner, (text) => plain(validatedFlag('--owner', text, validateOwner))),
    report,
    smtpUrl: given(smtpUrl, (text) => validatedFlag('--smtp-url', text, validateSmtpUrl)),
    mailFrom: given(mailFrom, (text) => plain(validatedFlag('--mail-from', text, validateOwner))),
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What the environment already answers; a URL with a password in it is not ours to write down. */
export function draftFromEnvironment(env: Environment): Draft {
  const usable = (name: string, fault: (text: string) => string | undefined): string | undefined => {
    const text = env[name]?.trim();
    return text && fault(text) === undefined ? text : undefined;
  };
  const variable = guessKeyVariable(env);
  return {
    url: usable('COMPLIANCE_API_URL', validateUrl),
    key: variable === undefined ? undefined : { env: variable },
    smtpUrl: usable('SMTP_URL', validateSmtpUrl),
    mailFrom: usable('MAIL_FROM', validateOwner),
    redisUrl: usable('REDIS_URL', validateRedisUrl),
  };
}

/** The machine's own zone; UTC where it has none that the API would know. */
export function systemTimezone(): string {
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  return validateTimezone(zone) === undefined ? zone : 'UTC';
}

/** What the service knows of the organization that is meant. */
export function ownOrganization({ organizations = [] }: ServiceInfo, serviceOrg: number | 'current' | undefined) {
  if (typeof serviceOrg === 'number') return organizations.find(({ id }) => id === serviceOrg);
  // A key that reaches several does not say which of them is its own.
  return organizations.length === 1 ? organizations[0] : undefined;
}

/**
 * The whole answers, defaults in place of what was not said. Throws one `usage.invalid` with everything that is missing
 * and has no default.
 */
export function completeAnswers(draft: Draft, seen: ServiceInfo): Answers {
  const {
    url,
    key,
    serviceOrg = 'current',
    to,
    timezone = systemTimezone(),
    allow = 'address',
    report = 'weekly',
  } = draft;
  const known = ownOrganization(seen, serviceOrg);
  const owner = draft.owner ?? to?.find((address) => validateOwner(address) === undefined);
  const org = draft.org ?? (known === undefined ? undefined : idFromName(known.name));
  const missing = [
    ...(url === undefined ? ['--url https://… (or COMPLIANCE_API_URL)'] : []),
    ...(key === undefined ? ['--key-env NAME or --key-file PATH'] : []),
    ...(org === undefined ? ['--org <short name>'] : []),
    ...(to === undefined ? ['--to <address>'] : []),
    ...(to !== undefined && owner === undefined ? ['--owner <address> (no recipient is a usual one)'] : []),
  ];
  if (url === undefined || key === undefined || org === undefined || to === undefined || owner === undefined) {
    throw new DocketError('usage.invalid', 'Something is missing that has no default; nothing was written.', {
      where: 'docket init',
      expected: missing.join(', '),
      next: 'Add it, or run `docket init` on a terminal, which asks.',
    });
  }
  const { smtpUrl, mailFrom, redisUrl } = draft;
  const name = draft.name ?? known?.name;
  return {
    url,
    key,
    org,
    ...(name === undefined || !isLine(name) ? {} : { name }),
    serviceOrg,
    timezone,
    to,
    allow,
    owner,
    report,
    ...(smtpUrl === undefined ? {} : { smtpUrl }),
    ...(mailFrom === undefined ? {} : { mailFrom }),
    ...(redisUrl === undefined ? {} : { redisUrl }),
  };
}

/** Whether the service's name of an organization can stand in a file and on a cover as it is. */
const isLine = (name: string): boolean =>
  name.trim() !== '' && name.length <= 200 && !/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(name);
