import { z } from 'zod';
import type { Config, ConfigPart } from '../../base/config/config.ts';
import { isLoopback } from '../../base/net/host.ts';
import { parseSecretRef, type SecretRef } from '../../base/secrets/secret.ts';

/** The path to which the provider sends browsers back. */
export const CALLBACK_PATH = '/sign-in/callback';

/** Scopes to request if DOCKET_OIDC_SCOPES is not set. `offline_access` is added for providers that list it. */
export const DEFAULT_OIDC_SCOPES = ['openid', 'profile', 'email'] as const;

/** The claim with groups or roles if DOCKET_OIDC_ROLES_CLAIM is not set. */
const DEFAULT_ROLES_CLAIM = 'groups';

/** TLS, or this machine: codes and tokens must not travel unencrypted. */
const isProtected = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));

const hasExtras = ({ username, password, search, hash }: URL): boolean =>
  username !== '' || password !== '' || search !== '' || hash !== '';

const protectedUrl = (error: string, accepts: (url: URL) => boolean = () => true) =>
  z
    .string()
    .refine(
      (text) => {
        const url = URL.canParse(text) ? new URL(text) : undefined;
        return url !== undefined && isProtected(url) && !hasExtras(url) && accepts(url);
      },
      { error },
    )
    .optional();

/** Variables of the sign-in with an OpenID provider. The client's secret is a reference. */
const oidcVariables = {
  DOCKET_OIDC_ISSUER: protectedUrl(
    'the issuer of the OpenID provider as it writes itself, https://… without user, password, query and fragment (http:// only on this machine)',
  ),
  DOCKET_OIDC_CLIENT_ID: z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, { error: 'the id of the client at the provider' })
    .optional(),
  DOCKET_OIDC_CLIENT_SECRET: z
    .string()
    .transform((text, context): SecretRef => {
      const ref = parseSecretRef(text);
      if (ref !== undefined) return ref;
      const message = "a reference to the client's secret, env:NAME or file:PATH, never the secret itself";
      context.issues.push({ code: 'custom', input: text, message, params: { got: 'something else (not shown)' } });
      return z.NEVER;
    })
    .optional(),
  DOCKET_OIDC_REDIRECT_URL: protectedUrl(
    `the URL of this page that ends with ${CALLBACK_PATH}, e.g. https://docket.example.com${CALLBACK_PATH} (http:// only on this machine)`,
    ({ pathname }) => pathname.endsWith(CALLBACK_PATH),
  ),
  DOCKET_OIDC_SCOPES: z
    .string()
    .regex(/^[\x21-\x7e]+([ ,]+[\x21-\x7e]+)*$/, { error: 'scopes with spaces between, e.g. openid profile email' })
    .transform((text) => text.split(/[ ,]+/))
    .refine((scopes) => scopes.includes('openid'), { error: 'scopes, openid among them' })
    .optional(),
  DOCKET_OIDC_ROLES_CLAIM: z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, { error: 'the name of a claim, e.g. roles or realm_access.roles' })
    .optional(),
  DOCKET_OIDC_ACCOUNTS: z.string().min(1).optional(),
};

type Variables = Readonly<Record<string, string | undefined>>;

/** Errors of combinations of variables, in the format of `readConfig`. An incomplete sign-in must not be ignored. */
function oidcDiagnostics(values: Variables): string[] {
  const some = Object.keys(oidcVariables).find((name) => values[name] !== undefined);
  if (some === undefined) return [];
  const needed: readonly (readonly string[])[] = [
    ['DOCKET_OIDC_ISSUER'],
    ['DOCKET_OIDC_CLIENT_ID'],
    ['DOCKET_OIDC_CLIENT_SECRET'],
    ['DOCKET_OIDC_REDIRECT_URL', 'DOCKET_PUBLIC_URL'],
    // Without either, no account would be admitted.
    ['DOCKET_OIDC_ACCOUNTS', 'DOCKET_OIDC_ROLES_CLAIM'],
  ];
  const missing = needed
    .filter((names) => names.every((name) => values[name] === undefined))
    .map((names) => `${names.join(' or ')}: expected a value, since ${some} is set; got nothing`);
  const publicUrl = values.DOCKET_OIDC_REDIRECT_URL === undefined ? values.DOCKET_PUBLIC_URL : undefined;
  const unprotected = publicUrl !== undefined && URL.canParse(publicUrl) && !isProtected(new URL(publicUrl));
  return unprotected
    ? [...missing, `DOCKET_PUBLIC_URL: expected https://… since ${some} is set (http:// only on this machine)`]
    : missing;
}

export const OIDC_CONFIG = {
  variables: oidcVariables,
  diagnose: oidcDiagnostics,
  accessFile: 'DOCKET_OIDC_ACCOUNTS',
} as const satisfies ConfigPart;

/** The settings of the sign-in, if `oidcDiagnostics` found them complete; undefined if accounts cannot sign in. */
export function oidcSettings(config: Config) {
  // `readConfig` has read these variables with `OIDC_CONFIG`.
  const values = config as Config & Partial<z.infer<z.ZodObject<typeof oidcVariables>>>;
  const {
    DOCKET_OIDC_ISSUER: issuer,
    DOCKET_OIDC_CLIENT_ID: clientId,
    DOCKET_OIDC_CLIENT_SECRET: clientSecret,
    DOCKET_OIDC_ROLES_CLAIM: rolesClaim,
  } = values;
  const { DOCKET_PUBLIC_URL: publicUrl } = config;
  const redirectUrl =
    values.DOCKET_OIDC_REDIRECT_URL ?? (publicUrl === undefined ? undefined : `${publicUrl}${CALLBACK_PATH}`);
  if (issuer === undefined || clientId === undefined || clientSecret === undefined || redirectUrl === undefined)
    return undefined;
  return {
    issuer,
    clientId,
    clientSecret,
    /** Must be registered at the provider. */
    redirectUrl,
    /** Default: `DEFAULT_OIDC_SCOPES`. */
    scopes: values.DOCKET_OIDC_SCOPES,
    rolesClaim: rolesClaim ?? DEFAULT_ROLES_CLAIM,
    /** Whether values of the claim such as `docket:viewer:acme` grant access without an entry. */
    claimGrantsAccess: rolesClaim !== undefined,
    /** Path of the mapping file. */
    accounts: values.DOCKET_OIDC_ACCOUNTS,
  };
}
export type OidcSettings = NonNullable<ReturnType<typeof oidcSettings>>;
