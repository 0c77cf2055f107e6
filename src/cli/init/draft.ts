import { DocketError } from '../../base/error.ts';
import type { SecretRef } from '../../base/secret.ts';
import { canonicalAddress } from '../../define/recipients.ts';
import {
  type Answers,
  addressesFault,
  type FirstReport,
  flagAnswer,
  idOf,
  keyEnvFault,
  keyFileFault,
  likelyKeyVariable,
  orgFault,
  ownerFault,
  redisFault,
  serviceOrgFault,
  smtpFault,
  splitAddresses,
  urlFault,
  zoneFault,
} from './answers.ts';
import type { Seen } from './service.ts';

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
  readonly report?: FirstReport;
  readonly smtpUrl?: string;
  readonly mailFrom?: string;
  readonly yes?: boolean;
  readonly offline?: boolean;
  readonly json?: boolean;
}

const plain = (address: string): string => canonicalAddress(address) ?? address;

export const readServiceOrg = (text: string): number | 'current' => (text === 'current' ? text : Number(text));

export const readAddresses = (text: string): readonly string[] => [...new Set(splitAddresses(text).map(plain))];

/** What the flags answer. Throws `usage.invalid` for the first that is not usable. */
export function draftOf(flags: InitFlags): Draft {
  const { url, keyEnv, keyFile, org, serviceOrg, timezone, to, allow, owner, report, smtpUrl, mailFrom } = flags;
  const given = <T, R>(value: T | undefined, read: (value: T) => R): R | undefined =>
    value === undefined ? undefined : read(value);
  return {
    url: given(url, (text) => flagAnswer('--url', text, urlFault)),
    key:
      given(keyEnv, (text): SecretRef => ({ env: flagAnswer('--key-env', text, keyEnvFault) })) ??
      given(keyFile, (text): SecretRef => ({ file: flagAnswer('--key-file', text, keyFileFault) })),
    org: given(org, (text) => flagAnswer('--org', text, orgFault)),
    serviceOrg: given(serviceOrg, (text) => readServiceOrg(flagAnswer('--service-org', text, serviceOrgFault))),
    timezone: given(timezone, (text) => flagAnswer('--timezone', text, zoneFault)),
    to: given(to, (texts) => readAddresses(flagAnswer('--to', texts.join(' '), addressesFault))),
    allow,
    owner: given(owner, (text) => plain(flagAnswer('--owner', text, ownerFault))),
    report,
    smtpUrl: given(smtpUrl, (text) => flagAnswer('--smtp-url', text, smtpFault)),
    mailFrom: given(mailFrom, (text) => plain(flagAnswer('--mail-from', text, ownerFault))),
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What the environment already answers; a URL with a password in it is not ours to write down. */
export function fromEnvironment(env: Environment): Draft {
  const usable = (name: string, fault: (text: string) => string | undefined): string | undefined => {
    const text = env[name]?.trim();
    return text && fault(text) === undefined ? text : undefined;
  };
  const variable = likelyKeyVariable(env);
  return {
    url: usable('COMPLIANCE_API_URL', urlFault),
    key: variable === undefined ? undefined : { env: variable },
    smtpUrl: usable('SMTP_URL', smtpFault),
    mailFrom: usable('MAIL_FROM', ownerFault),
    redisUrl: usable('REDIS_URL', redisFault),
  };
}

/** The machine's own zone; UTC where it has none that the API would know. */
export function machineZone(): string {
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  return zoneFault(zone) === undefined ? zone : 'UTC';
}

/** What the service knows of the organization that is meant. */
export function ownOrganization({ organizations = [] }: Seen, serviceOrg: number | 'current' | undefined) {
  if (typeof serviceOrg === 'number') return organizations.find(({ id }) => id === serviceOrg);
  // A key that reaches several does not say which of them is its own.
  return organizations.length === 1 ? organizations[0] : undefined;
}

/**
 * The whole answers, defaults in place of what was not said. Throws one `usage.invalid` with everything that is missing
 * and has no default.
 */
export function complete(draft: Draft, seen: Seen): Answers {
  const {
    url,
    key,
    serviceOrg = 'current',
    to,
    timezone = machineZone(),
    allow = 'address',
    report = 'weekly',
  } = draft;
  const known = ownOrganization(seen, serviceOrg);
  const owner = draft.owner ?? to?.find((address) => ownerFault(address) === undefined);
  const org = draft.org ?? (known === undefined ? undefined : idOf(known.name));
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
