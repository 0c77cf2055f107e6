import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SecretRef } from './secret.ts';

/** A bucket that holds the archive. Its field names are those of `deliveries[].s3`. */
export interface ArchiveBucket {
  readonly kind: 's3';
  readonly bucket: string;
  /** In front of every key, without `/` at either end; may be empty. */
  readonly prefix: string;
  readonly endpoint?: string;
  readonly region?: string;
  readonly path_style?: boolean;
  readonly encryption?: 'AES256' | { readonly kms_key: string };
  /** Absent: the default chain of the AWS SDK. */
  readonly credentials?: {
    readonly access_key_id: SecretRef;
    readonly secret_access_key: SecretRef;
    readonly session_token?: SecretRef;
  };
  /** Folder of this machine in which files are made, and downloaded that another machine has made. */
  readonly staging: string;
  /** Whether mails may carry signed links into the archive. */
  readonly links: boolean;
}

/** What `DOCKET_ARCHIVE` names. */
export type ArchivePlace = { readonly kind: 'directory'; readonly folder: string } | ArchiveBucket;

/** One thing that is wrong with the variable; `got` never repeats what may be a credential. */
export interface PlaceFault {
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
 * Reads `file:DIR`, or `s3://bucket/prefix?endpoint=…&region=…&path_style=true&sse=AES256`. Every fault at once.
 * Credentials are references, `access_key_id=env:NAME` or `file:PATH`, or absent: never values.
 */
export function readArchivePlace(text: string): ArchivePlace | readonly PlaceFault[] {
  if (!URL.canParse(text)) return [{ expected: `a file: or s3: URL, e.g. ${EXAMPLES}`, got: shown(text) }];
  const url = new URL(text);
  if (url.protocol === 's3:') return bucketOf(url);
  if (url.protocol !== 'file:')
    return [{ expected: `a URL starting with file: or s3:, e.g. ${EXAMPLES}`, got: shown(text) }];
  try {
    const folder = fileURLToPath(url);
    // A URL has no relative path: `file:archive` would be /archive, and `file:` the root. No system takes a NUL.
    if (/^file:\//i.test(text) && !folder.includes('\0')) return { kind: 'directory', folder };
  } catch {
    // No path of this system: said below.
  }
  return [{ expected: 'a file: URL of a folder of this machine, file:///var/lib/docket/archive', got: shown(text) }];
}

/** A text that cannot be a URL with a password or a key in it, as it is. */
const shown = (text: string): string =>
  /[@?]/.test(text) ? 'a value that is not one (not shown: it may hold a credential)' : `"${text}"`;

function bucketOf(url: URL): ArchivePlace | readonly PlaceFault[] {
  const faults: PlaceFault[] = [];
  const fault = (expected: string, got: string): undefined => {
    faults.push({ expected, got });
    return undefined;
  };
  if (url.username !== '' || url.password !== '') {
    fault(
      'no credentials in the URL: the default chain of the AWS SDK, or access_key_id=env:NAME&secret_access_key=env:NAME',
      'a user or password in front of the bucket (not shown)',
    );
  }
  // A host name is no bucket's when it has a port: somebody wrote the endpoint there.
  if (!BUCKET.test(url.hostname) || url.port !== '') {
    fault('the name of a bucket, s3://bucket/prefix, with the store itself in endpoint=', `"${url.host}"`);
  }
  const prefix = url.pathname.replace(/^\/|\/$/g, '');
  if (prefix !== '' && !PREFIX.test(prefix)) {
    fault('a prefix of letters, digits, ".", "_" and "-", its steps divided by "/"', shown(prefix));
  }
  if (url.hash !== '') fault('no "#" in the URL', shown(url.hash));

  const known: readonly string[] = PARAMETERS;
  for (const name of new Set(url.searchParams.keys())) {
    if (!known.includes(name)) fault(`parameters among ${PARAMETERS.join(', ')}`, `"${name}"`);
    else if (url.searchParams.getAll(name).length > 1) fault(`${name} once`, 'it more than once');
  }
  const given = (name: Parameter): string | undefined => url.searchParams.get(name)?.trim() || undefined;
  const either = (name: Parameter): boolean | undefined => {
    const value = given(name);
    if (value === undefined) return undefined;
    return value === 'true' || value === 'false'
      ? value === 'true'
      : fault(`${name}=true or ${name}=false`, `"${value}"`);
  };
  const reference = (name: Parameter): SecretRef | undefined => {
    const [, kind, where = ''] = /^(env|file):(.+)$/.exec(given(name) ?? '') ?? [];
    if (kind === 'file') return { file: where };
    if (kind === 'env' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(where)) return { env: where };
    if (given(name) === undefined) return undefined;
    return fault(
      `a reference, ${name}=env:NAME or ${name}=file:PATH, never the value itself`,
      'something else (not shown)',
    );
  };

  const endpoint = endpointOf(given('endpoint'), fault);
  const region = given('region');
  const pathStyle = either('path_style');
  const encryption = encryptionOf(given('sse'), fault);
  const [id, secret, token] = [reference('access_key_id'), reference('secret_access_key'), reference('session_token')];
  const named = [given('access_key_id'), given('secret_access_key')].filter((value) => value !== undefined).length;
  if (named === 1) fault('access_key_id and secret_access_key together, or neither', 'one of them');
  if (named === 0 && given('session_token') !== undefined) fault('session_token beside access_key_id', 'it alone');
  const staging = given('staging');
  if (staging !== undefined && !isAbsolute(staging)) fault('staging=/an/absolute/path', `"${staging}"`);
  const links = either('links');
  if (faults.length > 0) return faults;
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

type Fault = (expected: string, got: string) => undefined;

function endpointOf(text: string | undefined, fault: Fault): string | undefined {
  if (text === undefined) return undefined;
  const expected = 'endpoint=https://… (or http://…), without user and password';
  if (!URL.canParse(text)) return fault(expected, shown(text));
  const { protocol, username, password, search } = new URL(text);
  const plain = username === '' && password === '' && search === '';
  return plain && /^https?:$/.test(protocol) ? text : fault(expected, shown(text));
}

function encryptionOf(text: string | undefined, fault: Fault): ArchiveBucket['encryption'] {
  if (text === undefined || text === 'AES256') return text;
  const key = /^aws:kms:(.+)$/.exec(text)?.[1];
  return key === undefined ? fault('sse=AES256 or sse=aws:kms:<id or ARN of the key>', `"${text}"`) : { kms_key: key };
}
