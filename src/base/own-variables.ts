import { VARIABLE_NAMES } from './config.ts';

/** What the AWS SDK signs in with by itself; `AWS_REGION` and the like are no secrets. */
const AWS_CREDENTIALS: ReadonlySet<string> = new Set([
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN',
]);

/**
 * Whether an environment variable is the deployment's own, which no report may refer to: those of the configuration,
 * every `DOCKET_…` and `OTEL_…` (whose headers hold tokens), and the credentials that the AWS SDK finds by itself.
 */
export function isOwnVariable(name: string): boolean {
  // Windows knows a variable by any case.
  const upper = name.toUpperCase();
  return VARIABLE_NAMES.has(upper) || /^(DOCKET|OTEL)_/.test(upper) || AWS_CREDENTIALS.has(upper);
}

/** Variables of others whose value is the path of a file with a credential. */
const CREDENTIAL_FILES = [
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
  'AWS_SHARED_CREDENTIALS_FILE',
  'AWS_CONFIG_FILE',
  'SMTP_OAUTH2_CLIENT_SECRET_FILE',
  'SMTP_OAUTH2_REFRESH_TOKEN_FILE',
  'SMTP_DKIM_KEY_FILE',
  'DOCKET_ADMIN_TOKENS',
] as const;

/** The files that hold the deployment's own credentials. */
export const ownCredentialFiles = (env: Readonly<Record<string, string | undefined>>): readonly string[] =>
  CREDENTIAL_FILES.flatMap((name) => env[name]?.trim() || []);
