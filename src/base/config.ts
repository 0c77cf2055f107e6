import { delimiter, isAbsolute } from 'node:path';
import { z } from 'zod';
import { type AddressList, readAddressList } from './address-list.ts';
import { type ArchivePlace, readArchivePlace } from './archive-place.ts';
import { DocketError } from './error.ts';
import { readRedisUrl } from './redis-url.ts';
import { type SecretRef, secretRefSchema } from './secret.ts';
import { smtpFaults, smtpVariables } from './smtp-variables.ts';

const url = (schemes: readonly string[], example: string) =>
  z.string().refine((value) => URL.canParse(value) && schemes.includes(new URL(value).protocol), {
    error: `a URL starting with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}, e.g. ${example}`,
  });

const port = z.coerce.number({ error: 'a port number from 0 to 65535' }).int().min(0).max(65_535);

/** A user and a password, also in what is only nearly a URL. */
const WITH_LOGIN = /:.*@/s;

const hasLogin = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && (url.username !== '' || url.password !== '');
};

/** One entry a variable. The README's configuration table is this object, read aloud. */
const variables = {
  COMPLIANCE_API_URL: url(['http:', 'https:'], 'https://api.example.com')
    // It would not be sent: only the organization's key is shown to the service.
    .refine((text) => !hasLogin(text), { error: 'a URL without user and password' })
    .optional(),
  REDIS_URL: z
    .string()
    .superRefine((value, context) => {
      const place = readRedisUrl(value);
      if (typeof place === 'string') context.addIssue({ code: 'custom', message: place });
    })
    .default('redis://127.0.0.1:6379'),
  SMTP_URL: url(['smtp:', 'smtps:'], 'smtps://user:password@mail.example.com').optional(),
  MAIL_FROM: z.email({ error: 'an e-mail address, e.g. reports@example.com' }).optional(),
  ...smtpVariables,
  DOCKET_JOBS: z.string().min(1).default('jobs'),
  DOCKET_TEMPLATES: z.string().min(1).optional(),
  DOCKET_ARCHIVE: z
    .string()
    .transform((text, context): ArchivePlace => {
      const read = readArchivePlace(text);
      if ('kind' in read) return read;
      for (const { expected, got } of read) {
        context.issues.push({ code: 'custom', input: text, message: expected, params: { got } });
      }
      return z.NEVER;
    })
    .optional(),
  DOCKET_SIGNING_KEY: z
    .string()
    .transform((text, context): SecretRef => {
      const [, kind, where = ''] = /^(env|file):(.+)$/.exec(text) ?? [];
      const read = secretRefSchema.safeParse(kind === 'env' ? { env: where } : { file: where });
      if (kind !== undefined && read.success) return read.data;
      const message = 'a reference to a private key, env:NAME or file:PATH, never the key itself';
      context.issues.push({ code: 'custom', input: text, message, params: { got: 'something else (not shown)' } });
      return z.NEVER;
    })
    .optional(),
  DOCKET_ARCHIVE_DAYS: z.coerce
    .number({ error: 'a whole number of days, 7 or more' })
    .int({ error: 'a whole number of days' })
    .min(7, { error: '7 days or more: until then a missed slot may still be made up for' })
    .max(36_500, { error: '36500 days at most; leave it unset to keep runs for ever' })
    .optional(),
  DOCKET_ADMIN_HOST: z.string().min(1).default('127.0.0.1'),
  DOCKET_ADMIN_PORT: port.default(8787),
  DOCKET_ADMIN_TOKENS: z.string().min(1).optional(),
  DOCKET_ADMIN_NAMES: z
    .string()
    .toLowerCase()
    .regex(/^[a-z0-9.-]+(\s*,\s*[a-z0-9.-]+)*$/, { error: 'host names with commas, e.g. docket.example.com' })
    .transform((text) => text.split(',').map((name) => name.trim()))
    .optional(),
  DOCKET_ADMIN_TRUSTED_PROXIES: z
    .string()
    .transform((text, context): AddressList => {
      const list = readAddressList(text);
      if ('has' in list) return list;
      const message = 'addresses and CIDR networks with commas, e.g. 10.0.0.0/8, ::1';
      context.issues.push({ code: 'custom', input: text, message, params: { got: `"${list.got}"` } });
      return z.NEVER;
    })
    .optional(),
  DOCKET_ADMIN_RATE: z.coerce
    .number({ error: 'a whole number of requests a minute, from 10 to 1000000' })
    .int({ error: 'a whole number of requests a minute' })
    .min(10, { error: '10 requests a minute or more' })
    .max(1_000_000, { error: '1000000 requests a minute at most' })
    .default(600),
  DOCKET_ADMIN_BULL_BOARD: z.enum(['on', 'off'], { error: 'on or off' }).default('off'),
  DOCKET_SECRET_FOLDERS: z
    .string()
    .transform((text, context): readonly string[] => {
      const folders = text.split(delimiter).map((folder) => folder.trim());
      const wrong = folders.find((folder) => !isAbsolute(folder));
      if (wrong === undefined) return folders;
      const message = `absolute paths of folders with "${delimiter}" between two, e.g. /run/secrets`;
      context.issues.push({ code: 'custom', input: text, message, params: { got: `"${wrong}"` } });
      return z.NEVER;
    })
    .optional(),
  DOCKET_REQUIRE_DESTINATIONS: z.enum(['on', 'off'], { error: 'on or off' }).default('off'),
  DOCKET_REPORT_SCOPE: z.enum(['warn', 'enforce'], { error: 'warn or enforce' }).default('warn'),
  DOCKET_REPEAT: z.enum(['ask', 'allow'], { error: 'ask or allow' }).default('ask'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      error: 'one of trace, debug, info, warn, error, fatal, silent',
    })
    .default('info'),
  LOG_FORMAT: z.enum(['auto', 'json', 'pretty'], { error: 'one of auto, json, pretty' }).default('auto'),
};
const environmentSchema = z.object(variables);

/** Every variable that is read here. */
export const VARIABLE_NAMES: ReadonlySet<string> = new Set(Object.keys(variables));

/** Variables whose value may hold a password and is therefore never repeated in an error; nor is any URL with a login. */
const SECRET_VARIABLES: ReadonlySet<string> = new Set(['REDIS_URL', 'SMTP_URL']);

export type Config = Readonly<z.infer<typeof environmentSchema>>;

/**
 * The environment → a frozen `Config`. An empty variable counts as unset.
 * Throws one `config.invalid` that lists every fault at once: the variable, what was expected, what was got.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    Object.keys(variables)
      .map((name) => [name, env[name]?.trim()] as const)
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = environmentSchema.safeParse(given);
  const together = smtpFaults(given);
  if (parsed.success && together.length === 0) return Object.freeze(parsed.data);
  const alone = (parsed.error?.issues ?? []).map((issue) => {
    const name = String(issue.path[0]);
    const told = issue.code === 'custom' ? issue.params?.got : undefined;
    const got =
      SECRET_VARIABLES.has(name) || WITH_LOGIN.test(given[name] ?? '')
        ? 'a value that is not one (not shown: it may hold a password)'
        : typeof told === 'string'
          ? told
          : `"${given[name]}"`;
    return `${name}: expected ${issue.message}, got ${got}`;
  });
  const faults = [...alone, ...together];
  throw new DocketError(
    'config.invalid',
    `The environment has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n  ${faults.join('\n  ')}`,
    {
      next: 'Correct the variables above; the README lists all of them.',
    },
  );
}

/** Values to show where one of these is missing. */
const EXAMPLES: ReadonlyMap<keyof Config, string> = new Map([
  ['COMPLIANCE_API_URL', 'https://api.example.com'],
  ['SMTP_URL', 'smtp://mail.example.com:587'],
  ['MAIL_FROM', 'reports@example.com'],
]);

/**
 * The value of a variable that this command cannot do without; `config.invalid` names it when it is missing.
 *
 * @param next what to do then; the default shows how to set it
 */
export function required<Name extends keyof Config>(
  config: Config,
  name: Name,
  why: string,
  next = `Set it, e.g. \`export ${name}=${EXAMPLES.get(name) ?? '…'}\`.`,
): NonNullable<Config[Name]> {
  const value = config[name];
  if (value !== undefined) return value as NonNullable<Config[Name]>;
  throw new DocketError('config.invalid', `${name} is not set, and ${why}.`, {
    where: name,
    expected: 'a value',
    got: 'nothing',
    next,
  });
}
