import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSecretRef, type SecretRef } from '../secrets/secret.ts';

/** The archive's bucket. Field names are those of `deliveries[].s3`. */
export interface ArchiveBucket {
  readonly kind: 's3';
  readonly bucket: string;
  /** Prefix of every key, without `/` at either end. May be empty. */
  readonly prefix: string;
  readonly endpoint?: string;
  readonly region?: string;
  readonly path_style?: boolean;
  readonly encryption?: 'AES256' | { readonly kms_key: string };
  /** Default: the AWS SDK's own credential chain. */
  readonly credentials?: {
    readonly access_key_id: SecretRef;
    readonly secret_access_key: SecretRef;
    readonly session_token?: SecretRef;
  };
  /** Local folder for files that are being written, and for downloads of files that other machines wrote. */
  readonly staging: string;
  /** Whether e-mails may contain signed links to the archive. */
  readonly links: boolean;
}

export type ArchiveLocation = { readonly kind: 'directory'; readonly folder: string } | ArchiveBucket;

/** One error in the variable. `got` never repeats anything that may be a credential. */
export interface ArchiveUrlDiagnostic {
  readonly expected: string;
  readonly got: string;
}

const PARAMETERS = [
  'endpoint',
  'region',
  'path_style',
  'sse',
  'access_key_id',
  'secret_access_key',
  'session_token',
  'staging',
  'links',
] as const;
type Parameter = (typeof PARAMETERS)[number];

const EXAMPLES = 'file:///var/lib/docket/archive or s3://bucket/prefix?region=eu-central-1';
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/;
const PREFIX = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}(\/[A-Za-z0-9][A-Za-z0-9._-]{0,127})*$/;

/**
 * Parses `file:DIR`, or `s3://bucket/prefix?endpoint=…&region=…&path_style=true&sse=AES256`. Returns all errors at
 * once. Credentials are references (`access_key_id=env:NAME` or `file:PATH`), never values.
 */
export function parseArchiveUrl(text: string): ArchiveLocation | readonly ArchiveUrlDiagnostic[] {
  if (!URL.canParse(text)) return [{ expected: `a file: or s3: URL, e.g. ${EXAMPLES}`, got: quote(text) }];
  const url = new URL(text);
  if (url.protocol === 's3:') return parseBucketUrl(url);
  if (url.protocol !== 'file:')
    return [{ expected: `a URL starting with file: or s3:, e.g. ${EXAMPLES}`, got: quote(text) }];
  try {
    const folder = fileURLToPath(url);
    // A URL has no relative paths: `file:archive` would mean /archive, and `file:` the root.
    if (/^file:\//i.test(text) && !folder.includes('\0')) return { kind: 'directory', folder };
  } catch {
    // The URL is not a path of this system.
  }
  return [{ expected: 'a file: URL of a folder of this machine, file:///var/lib/docket/archive', got: quote(text) }];
}

/** Quotes the text, unless it may be a URL with credentials. */
const quote = (text: string): string =>
  /[@?]/.test(text) ? 'an invalid value (not shown: it may contain a credential)' : `"${text}"`;

function parseBucketUrl(url: URL): ArchiveLocation | readonly ArchiveUrlDiagnostic[] {
  const diagnostics: ArchiveUrlDiagnostic[] = [];
  const add: AddDiagnostic = (expected, got) => {
    diagnostics.push({ expected, got });
    return undefined;
  };
  if (url.username !== '' || url.password !== '') {
    add(
      'no credentials in the URL: the default chain of the AWS SDK, or access_key_id=env:NAME&secret_access_key=env:NAME',
      'a user or password in front of the bucket (not shown)',
    );
  }
  // A host with a port is an endpoint, not a bucket.
  if (!BUCKET.test(url.hostname) || url.port !== '') {
    add('the name of a bucket, s3://bucket/prefix, and the server in endpoint=', `"${url.host}"`);
  }
  const prefix = url.pathname.replace(/^\/|\/$/g, '');
  if (prefix !== '' && !PREFIX.test(prefix)) {
    add('a prefix of letters, digits, ".", "_" and "-", separated by "/"', quote(prefix));
  }
  if (url.hash !== '') add('no "#" in the URL', quote(url.hash));

  const known: readonly string[] = PARAMETERS;
  for (const name of new Set(url.searchParams.keys())) {
    if (!known.includes(name)) add(`parameters among ${PARAMETERS.join(', ')}`, `"${name}"`);
    else if (url.searchParams.getAll(name).length > 1) add(`${name} once`, 'several');
  }
  const param = (name: Parameter): string | undefined => url.searchParams.get(name)?.trim() || undefined;
  const boolean = (name: Parameter): boolean | undefined => {
    const value = param(name);
    if (value === undefined) return undefined;
    return value === 'true' || value === 'false'
      ? value === 'true'
      : add(`${name}=true or ${name}=false`, `"${value}"`);
  };
  const reference = (name: Parameter): SecretRef | undefined => {
    const text = param(name);
    if (text === undefined) return undefined;
    return (
      parseSecretRef(text) ??
      add(`a reference, ${name}=env:NAME or ${name}=file:PATH, never the value itself`, 'another value (not shown)')
    );
  };

  const endpoint = parseS3Endpoint(param('endpoint'), add);
  const region = param('region');
  const pathStyle = boolean('path_style');
  const encryption = parseEncryption(param('sse'), add);
  const [id, secret, token] = [reference('access_key_id'), reference('secret_access_key'), reference('session_token')];
  const credentialCount = [param('access_key_id'), param('secret_access_key')].filter(
    (value) => value !== undefined,
  ).length;
  if (credentialCount === 1) add('access_key_id and secret_access_key together, or neither', 'one of them');
  if (credentialCount === 0 && param('session_token') !== undefined)
    add('session_token with access_key_id', 'session_token without access_key_id');
  const staging = param('staging');
  if (staging !== undefined && !isAbsolute(staging)) add('staging=/an/absolute/path', `"${staging}"`);
  const links = boolean('links');
  if (diagnostics.length > 0) return diagnostics;
  return {
    kind: 's3',
    bucket: url.hostname,
    prefix,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(pathStyle === undefined ? {} : { path_style: pathStyle }),
    ...(encryption === undefined ? {} : { encryption }),
    ...(id === undefined || secret === undefined
      ? {}
      : {
          credentials: {
            access_key_id: id,
            secret_access_key: secret,
            ...(token === undefined ? {} : { session_token: token }),
          },
        }),
    staging: staging ?? join(tmpdir(), `docket-${process.getuid?.() ?? 'staging'}`),
    links: links ?? true,
  };
}

type AddDiagnostic = (expected: string, got: string) => undefined;

function parseS3Endpoint(text: string | undefined, add: AddDiagnostic): string | undefined {
  if (text === undefined) return undefined;
  const expected = 'endpoint=https://… (or http://…), without user and password';
  if (!URL.canParse(text)) return add(expected, quote(text));
  const { protocol, username, password, search } = new URL(text);
  const plain = username === '' && password === '' && search === '';
  return plain && /^https?:$/.test(protocol) ? text : add(expected, quote(text));
}

function parseEncryption(text: string | undefined, add: AddDiagnostic): ArchiveBucket['encryption'] {
  if (text === undefined || text === 'AES256') return text;
  const key = /^aws:kms:(.+)$/.exec(text)?.[1];
  return key === undefined ? add('sse=AES256 or sse=aws:kms:<id or ARN of the key>', `"${text}"`) : { kms_key: key };
}
