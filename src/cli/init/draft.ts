import { DocketError } from '../../base/error.ts';
import type { SecretRef } from '../../base/secrets/secret.ts';
import { canonicalAddress } from '../../definitions/allow-lists/recipients.ts';
import type { Environment } from '../io.ts';
import {
  type Answers,
  guessKeyVariable,
  idFromName,
  isStarterReport,
  STARTER_REPORTS,
  type StarterReport,
  splitAddresses,
  type Validate,
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

/** The answers given so far. */
export type Draft = { readonly [Name in keyof Answers]?: Answers[Name] | undefined };

/** The flags of `docket init`, as parsed by commander. */
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
  /** One of `STARTER_REPORTS`; with `--workbook`: `org/report`. */
  readonly report?: string;
  readonly smtpUrl?: string;
  readonly mailFrom?: string;
  readonly yes?: boolean;
  readonly offline?: boolean;
  readonly json?: boolean;
}

const plain = (address: string): string => canonicalAddress(address) ?? address;

const parseServiceOrg = (text: string): number | 'current' => (text === 'current' ? text : Number(text));

export const parseAddresses = (text: string): readonly string[] => [...new Set(splitAddresses(text).map(plain))];

const parseStarterReport = (text: string): StarterReport => {
  if (isStarterReport(text)) return text;
  throw new DocketError('usage.invalid', 'Invalid value.', {
    where: '--report',
    expected: `one of ${STARTER_REPORTS.join(', ')}`,
    got: JSON.stringify(text.slice(0, 80)),
    next: 'See `docket init --help`.',
  });
};

/** The answers in the flags. Throws `usage.invalid` for the first invalid one. */
export function draftFromFlags(flags: InitFlags): Draft {
  const { url, keyEnv, keyFile, org, serviceOrg, timezone, to, allow, owner, report, smtpUrl, mailFrom } = flags;
  const parsed = <T, R>(value: T | undefined, parse: (value: T) => R): R | undefined =>
    value === undefined ? undefined : parse(value);
  return {
    url: parsed(url, (text) => validatedFlag('--url', text, validateUrl)),
    key:
      parsed(keyEnv, (text): SecretRef => ({ env: validatedFlag('--key-env', text, validateKeyEnv) })) ??
      parsed(keyFile, (text): SecretRef => ({ file: validatedFlag('--key-file', text, validateKeyFile) })),
    org: parsed(org, (text) => validatedFlag('--org', text, validateOrgId)),
    serviceOrg: parsed(serviceOrg, (text) => parseServiceOrg(validatedFlag('--service-org', text, validateServiceOrg))),
    timezone: parsed(timezone, (text) => validatedFlag('--timezone', text, validateTimezone)),
    to: parsed(to, (texts) => parseAddresses(validatedFlag('--to', texts.join(' '), validateAddresses))),
    allow,
    owner: parsed(owner, (text) => plain(validatedFlag('--owner', text, validateOwner))),
    report: parsed(report, parseStarterReport),
    smtpUrl: parsed(smtpUrl, (text) => validatedFlag('--smtp-url', text, validateSmtpUrl)),
    mailFrom: parsed(mailFrom, (text) => plain(validatedFlag('--mail-from', text, validateOwner))),
  };
}

/** The answers in the environment. Leaves out URLs with a password, which must not be written into a file. */
export function draftFromEnvironment(env: Environment): Draft {
  const valid = (name: string, validate: Validate): string | undefined => {
    const text = env[name]?.trim();
    return text && validate(text) === undefined ? text : undefined;
  };
  const variable = guessKeyVariable(env);
  return {
    url: valid('COMPLIANCE_API_URL', validateUrl),
    key: variable === undefined ? undefined : { env: variable },
    smtpUrl: valid('SMTP_URL', validateSmtpUrl),
    mailFrom: valid('MAIL_FROM', validateOwner),
    redisUrl: valid('REDIS_URL', validateRedisUrl),
  };
}

/** The zone of this machine; UTC if it has no IANA zone. */
export function systemTimezone(): string {
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  return validateTimezone(zone) === undefined ? zone : 'UTC';
}

/** The organization's entry at the service; undefined if unknown. */
export function ownOrganization({ organizations = [] }: ServiceInfo, serviceOrg: number | 'current' | undefined) {
  if (typeof serviceOrg === 'number') return organizations.find(({ id }) => id === serviceOrg);
  // If the key can access several organizations, the service does not say which one is its own.
  return organizations.length === 1 ? organizations[0] : undefined;
}

/** Fills in the defaults. Throws one `usage.invalid` that lists every missing answer without a default. */
export function completeAnswers(draft: Draft, service: ServiceInfo): Answers {
  const { url, key, to, smtpUrl, mailFrom, redisUrl } = draft;
  const { serviceOrg = 'current', timezone = systemTimezone(), allow = 'address', report = 'weekly' } = draft;
  const known = ownOrganization(service, serviceOrg);
  const owner = draft.owner ?? to?.find((address) => validateOwner(address) === undefined);
  const org = draft.org ?? (known === undefined ? undefined : idFromName(known.name));
  const missing = [
    ...(url === undefined ? ['--url https://… (or COMPLIANCE_API_URL)'] : []),
    ...(key === undefined ? ['--key-env NAME or --key-file PATH'] : []),
    ...(org === undefined ? ['--org <short name>'] : []),
    ...(to === undefined ? ['--to <address>'] : []),
    ...(to !== undefined && owner === undefined ? ['--owner <address> (no recipient is an ordinary address)'] : []),
  ];
  // Without the service's response, the organization's name is unknown, so the user must first correct what caused
  // that.
  const [failure] = service.errors;
  if (missing.length > 0 && org === undefined && failure !== undefined) {
    const { message, code, expected, got, next = '' } = failure;
    throw new DocketError('usage.invalid', `Nothing was written. ${message} [${code}]`, {
      where: 'docket init',
      expected: expected === undefined ? missing.join(', ') : `${expected}; or ${missing.join(', ')}`,
      ...(got === undefined ? {} : { got }),
      next: `${next} Or give ${missing.join(', ')}: then the files are written without the service.`.trim(),
    });
  }
  if (url === undefined || key === undefined || org === undefined || to === undefined || owner === undefined) {
    throw new DocketError('usage.invalid', 'Required answers are missing; nothing was written.', {
      where: 'docket init',
      expected: missing.join(', '),
      next: 'Add them, or run `docket init` on a terminal, which prompts for them.',
    });
  }
  const ownName = draft.name ?? known?.name;
  const name = ownName !== undefined && isLine(ownName) ? ownName : undefined;
  return { url, key, org, name, serviceOrg, timezone, to, allow, owner, report, smtpUrl, mailFrom, redisUrl };
}

/** Whether the service's name of an organization is a single line of printable text. */
const isLine = (name: string): boolean =>
  name.trim() !== '' && name.length <= 200 && !/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(name);
