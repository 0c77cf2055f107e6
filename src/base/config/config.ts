import { delimiter, isAbsolute } from 'node:path';
import { z } from 'zod';
import { DocketError } from '../error.ts';
import { type AddressList, parseAddressList } from '../net/address-list.ts';
import { PROXY_VARIABLES, proxyDiagnostics } from '../net/proxies.ts';
import { parseSecretRef, type SecretRef } from '../secrets/secret.ts';
import { type ArchiveLocation, parseArchiveUrl } from './archive-url.ts';
import { parseMailSender } from './mail-sender.ts';
import { parsePublicUrl } from './public-url.ts';
import { parseRedisUrl } from './redis-url.ts';
import { smtpDiagnostics, smtpVariables } from './smtp-variables.ts';

const url = (schemes: readonly string[], example: string) =>
  z.string().refine((value) => URL.canParse(value) && schemes.includes(new URL(value).protocol), {
    error: `a URL starting with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}, e.g. ${example}`,
  });

const port = z.coerce.number({ error: 'a port number from 0 to 65535' }).int().min(0).max(65_535);

/** Matches a user and password, even in an invalid URL. */
const URL_WITH_CREDENTIALS = /:.*@/s;

const hasCredentials = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && (url.username !== '' || url.password !== '');
};

type Reject = (expected: string, got: string) => undefined;

/** A variable with its own syntax: `parse` returns its value or rejects it. */
const parsed = <Value>(parse: (text: string, reject: Reject) => Value | undefined) =>
  z
    .string()
    .transform((text, context): Value => {
      const reject: Reject = (message, got) => {
        context.issues.push({ code: 'custom', input: text, message, params: { got } });
      };
      return parse(text, reject) ?? z.NEVER;
    })
    .optional();

/** One entry per variable. Documented in docs/reference/environment.md. */
const variables = {
  COMPLIANCE_API_URL: url(['http:', 'https:'], 'https://api.example.com')
    // Credentials would not be sent, because requests contain only the organization's key.
    .refine((text) => !hasCredentials(text), { error: 'a URL without user and password' })
    .optional(),
  REDIS_URL: z
    .string()
    .superRefine((value, context) => {
      const topology = parseRedisUrl(value);
      if (typeof topology === 'string') context.addIssue({ code: 'custom', message: topology });
    })
    .default('redis://127.0.0.1:6379'),
  SMTP_URL: url(['smtp:', 'smtps:'], 'smtps://user:password@mail.example.com').optional(),
  MAIL_FROM: z
    .string()
    .refine((text) => parseMailSender(text) !== undefined, {
      error: 'an e-mail address, e.g. reports@example.com or Acme Compliance <reports@example.com>',
    })
    .optional(),
  ...smtpVariables,
  DOCKET_JOBS: z.string().min(1).default('jobs'),
  DOCKET_TEMPLATES: z.string().min(1).optional(),
  DOCKET_ARCHIVE: parsed((text, reject): ArchiveLocation | undefined => {
    const read = parseArchiveUrl(text);
    if ('kind' in read) return read;
    for (const { expected, got } of read) reject(expected, got);
    return undefined;
  }),
  DOCKET_SIGNING_KEY: parsed((text, reject): SecretRef | undefined => {
    const expected = 'a reference to a private key, env:NAME or file:PATH, never the key itself';
    return parseSecretRef(text) ?? reject(expected, 'something else (not shown)');
  }),
  DOCKET_ARCHIVE_DAYS: z.coerce
    .number({ error: 'a whole number of days, 7 or more' })
    .int({ error: 'a whole number of days' })
    .min(7, { error: '7 days or more: missed slots may still be caught up until then' })
    .max(36_500, { error: '36500 days at most; leave it unset to keep runs forever' })
    .optional(),
  DOCKET_ADMIN_HOST: z.string().min(1).default('127.0.0.1'),
  DOCKET_ADMIN_PORT: port.default(8787),
  DOCKET_ADMIN_TOKENS: z.string().min(1).optional(),
  DOCKET_TOKEN: z.string().min(1).max(512).optional(),
  DOCKET_ADMIN_NAMES: z
    .string()
    .toLowerCase()
    .regex(/^[a-z0-9.-]+(\s*,\s*[a-z0-9.-]+)*$/, { error: 'host names with commas, e.g. docket.example.com' })
    .transform((text) => text.split(',').map((name) => name.trim()))
    .optional(),
  DOCKET_ADMIN_TRUSTED_PROXIES: parsed((text, reject): AddressList | undefined => {
    const list = parseAddressList(text);
    if ('has' in list) return list;
    return reject('addresses and CIDR networks with commas, e.g. 10.0.0.0/8, ::1', `"${list.got}"`);
  }),
  DOCKET_ADMIN_RATE: z.coerce
    .number({ error: 'a whole number of requests a minute, from 10 to 1000000' })
    .int({ error: 'a whole number of requests a minute' })
    .min(10, { error: '10 requests a minute or more' })
    .max(1_000_000, { error: '1000000 requests a minute at most' })
    .default(600),
  DOCKET_ADMIN_BULL_BOARD: z.enum(['on', 'off'], { error: 'on or off' }).default('off'),
  DOCKET_SECRET_FOLDERS: parsed((text, reject): readonly string[] | undefined => {
    const folders = text.split(delimiter).map((folder) => folder.trim());
    const invalid = folders.find((folder) => !isAbsolute(folder));
    if (invalid === undefined) return folders;
    return reject(`absolute paths of folders separated by "${delimiter}", e.g. /run/secrets`, `"${invalid}"`);
  }),
  DOCKET_REQUIRE_DESTINATIONS: z.enum(['on', 'off'], { error: 'on or off' }).default('off'),
  DOCKET_REPORT_SCOPE: z.enum(['warn', 'enforce'], { error: 'warn or enforce' }).default('enforce'),
  DOCKET_PUBLIC_URL: parsed((text, reject): string | undefined => {
    const read = parsePublicUrl(text);
    return 'url' in read ? read.url : reject(read.expected, read.got);
  }),
  HTTPS_PROXY: z.string().optional(),
  HTTP_PROXY: z.string().optional(),
  NO_PROXY: z.string().optional(),
  DOCKET_PROXY_CREDENTIALS: parsed((text, reject): SecretRef | undefined => {
    const expected = 'a reference to user:password, env:NAME or file:PATH, never the password itself';
    return parseSecretRef(text) ?? reject(expected, 'something else (not shown)');
  }),
  DOCKET_REPEAT: z.enum(['ask', 'allow'], { error: 'ask or allow' }).default('ask'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      error: 'one of trace, debug, info, warn, error, fatal, silent',
    })
    .default('info'),
  LOG_FORMAT: z.enum(['auto', 'json', 'pretty'], { error: 'one of auto, json, pretty' }).default('auto'),
};
export const VARIABLE_NAMES: ReadonlySet<string> = new Set(Object.keys(variables));

/** As in curl, these can also be written in lower case, which takes precedence. */
const IN_LOWER_CASE: ReadonlySet<string> = new Set(PROXY_VARIABLES);

/** Variables whose value may contain a password. Errors never repeat these values, or URLs with credentials. */
const SECRET_VARIABLES: ReadonlySet<string> = new Set(['REDIS_URL', 'SMTP_URL', 'DOCKET_TOKEN']);

export type Config = Readonly<z.infer<z.ZodObject<typeof variables>>>;

/** The variables of one feature, whose values are added to the configuration. */
export interface ConfigPart {
  readonly variables: z.ZodRawShape;
  /** Finds errors in combinations, formatted as by `readConfig`. @param values as given, without empty ones */
  readonly diagnose?: (values: Readonly<Record<string, string | undefined>>) => readonly string[];
  /** The variable that names a file with permissions. No report may deliver into its folder. */
  readonly accessFile?: string;
}

/**
 * Reads the environment. Empty variables count as unset. Throws `config.invalid` with every invalid variable: its name,
 * what was expected, and its value.
 *
 * @param parts the features' variables
 */
export function readConfig(
  env: Readonly<Record<string, string | undefined>>,
  parts: readonly ConfigPart[] = [],
): Config {
  const shape = Object.assign({ ...variables }, ...parts.map((part) => part.variables)) as typeof variables;
  const given = (name: string): string | undefined =>
    (IN_LOWER_CASE.has(name) && env[name.toLowerCase()]?.trim()) || env[name]?.trim();
  const values = Object.fromEntries(
    Object.keys(shape)
      .map((name) => [name, given(name)] as const)
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = z.object(shape).safeParse(values);
  const combined = [
    ...smtpDiagnostics(values),
    ...proxyDiagnostics(values),
    ...parts.flatMap(({ diagnose }) => diagnose?.(values) ?? []),
  ];
  if (parsed.success && combined.length === 0) return Object.freeze(parsed.data);
  const single = (parsed.error?.issues ?? []).map((issue) => {
    const name = String(issue.path[0]);
    const override = issue.code === 'custom' ? issue.params?.got : undefined;
    const got =
      SECRET_VARIABLES.has(name) || URL_WITH_CREDENTIALS.test(values[name] ?? '')
        ? 'a value that is not one (not shown: it may hold a password)'
        : typeof override === 'string'
          ? override
          : `"${values[name]}"`;
    return `${name}: expected ${issue.message}, got ${got}`;
  });
  const errors = [...single, ...combined];
  throw new DocketError(
    'config.invalid',
    `Invalid configuration (${errors.length === 1 ? '1 error' : `${errors.length} errors`}):\n  ${errors.join('\n  ')}`,
    { next: 'Correct the environment variables above; docs/reference/environment.md lists all of them.' },
  );
}

/** Shown when a variable is missing. */
const EXAMPLES: ReadonlyMap<keyof Config, string> = new Map([
  ['COMPLIANCE_API_URL', 'https://api.example.com'],
  ['SMTP_URL', 'smtp://mail.example.com:587'],
  ['MAIL_FROM', 'reports@example.com'],
]);

/**
 * The value of a required variable. Throws `config.invalid` when it is missing.
 *
 * @param why completes the message: `<name> is not set, and <why>.`
 * @param next default: how to set it
 */
export function requireVariable<Name extends keyof Config>(
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

const endpoint = url(['http:', 'https:'], 'http://127.0.0.1:4318');
const protocol = z.enum(['http/protobuf', 'http/json'], {
  error: 'http/protobuf or http/json (port 4318 of a collector; Docket does not speak gRPC)',
});
const timeout = z.coerce.number({ error: 'milliseconds' }).min(1, { error: 'milliseconds' });

/** OpenTelemetry's standard variables that Docket itself reads. The OpenTelemetry packages read the others. */
export const traceVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_TIMEOUT: timeout.optional(),
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: timeout.optional(),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none'], { error: 'otlp or none' }).optional(),
  OTEL_SDK_DISABLED: z.string().optional(),
};
