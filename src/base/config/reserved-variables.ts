import { VARIABLE_NAMES } from './config.ts';

/** Credentials that the AWS SDK reads. `AWS_REGION` and similar variables are not secret. */
const AWS_CREDENTIALS: ReadonlySet<string> = new Set([
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN',
]);

/**
 * Whether reports must not refer to an environment variable. Reserved are the configuration's variables, every
 * `DOCKET_…` and `OTEL_…` (their headers contain tokens), and the AWS SDK's credentials.
 */
export function isReservedVariable(name: string): boolean {
  // Names are case-insensitive on Windows.
  const upper = name.toUpperCase();
  return VARIABLE_NAMES.has(upper) || /^(DOCKET|OTEL)_/.test(upper) || AWS_CREDENTIALS.has(upper);
}

/** Variables whose value is the path of a file with credentials. */
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
export const reservedCredentialFiles = (env: Readonly<Record<string, string | undefined>>): readonly string[] =>
  CREDENTIAL_FILES.flatMap((name) => env[name]?.trim() || []);
