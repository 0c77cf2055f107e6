import { createHash, createHmac, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ACCESS_KEY_ID, SECRET_ACCESS_KEY } from './s3-keys.ts';

export interface StoredObject {
  readonly bytes: Buffer;
  /** When the object was stored, in epoch ms; now by default. */
  readonly at?: number;
  readonly headers: IncomingMessage['headers'];
  /** The Object Lock of the object. Responses show it, and it prevents deletion. */
  lock?: { readonly until?: number; readonly hold?: boolean };
}

export interface S3Request {
  readonly method: string;
  readonly key: string;
  /** Names of the parameters, e.g. `uploads`. */
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
}

/** A fault in place of a response, `before` or `after` the request is carried out. */
export interface Fault {
  readonly when: 'before' | 'after';
  readonly how:
    | 'reset'
    | 'close'
    | 'hang'
    | { readonly status: number; readonly code: string; readonly message?: string };
}

export interface S3Server {
  readonly url: string;
  readonly bucket: string;
  /** The stored objects by key. */
  readonly objects: Map<string, StoredObject>;
  /** Multipart uploads that were neither completed nor aborted. */
  readonly uploads: ReadonlyMap<string, unknown>;
  readonly requests: S3Request[];
  /** The clock for expiring links and dates of objects. */
  now: () => number;
  /** False ignores `If-None-Match`; `refuse` answers 501. */
  conditional: boolean | 'refuse';
  /** The number of keys per page of a listing. */
  page: number;
  /** The delay before anything is done, in ms. */
  delayMs: number;
  /** Called for each request. Undefined means no fault. */
  fault: (request: S3Request) => Fault | undefined;
  close(): Promise<void>;
}

export { ACCESS_KEY_ID, SECRET_ACCESS_KEY };

/** The default number of keys per page: few, so that tests need several pages. */
const PAGE = 4;

const hex = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Checks Signature Version 4 by its specification. Returns undefined if it is right, else S3's error code. */
function signatureFault(request: IncomingMessage, body: Buffer, now: number): string | undefined {
  const [path = '', search = ''] = (request.url ?? '').split('?');
  const given = new URLSearchParams(search);
  const presigned = given.has('X-Amz-Signature');
  const authorization = presigned
    ? `${given.get('X-Amz-Algorithm')} Credential=${given.get('X-Amz-Credential')}, SignedHeaders=${given.get('X-Amz-SignedHeaders')}, Signature=${given.get('X-Amz-Signature')}`
    : (request.headers.authorization ?? '');
  const parsed =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8}\/[^/]+\/s3\/aws4_request), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      authorization,
    );
  if (parsed === null) return 'AccessDenied';
  const [, id = '', scope = '', signed = '', signature = ''] = parsed;
  if (id !== ACCESS_KEY_ID) return 'InvalidAccessKeyId';
  const payload = presigned ? 'UNSIGNED-PAYLOAD' : String(request.headers['x-amz-content-sha256']);
  if (payload !== 'UNSIGNED-PAYLOAD' && payload !== hex(body)) return 'XAmzContentSHA256Mismatch';
  const dated = presigned ? given.get('X-Amz-Date') : request.headers['x-amz-date'];
  if (presigned) {
    const from = Date.parse(String(dated).replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
    const seconds = Number(given.get('X-Amz-Expires'));
    if (!(seconds > 0 && seconds <= 604_800) || !(now >= from && now < from + seconds * 1000)) return 'AccessDenied';
  }
  const query = search
    .split('&')
    .filter((pair) => pair !== '' && !pair.startsWith('X-Amz-Signature='))
    .map((pair) => (pair.includes('=') ? pair : `${pair}=`))
    .sort()
    .join('&');
  const headers = signed
    .split(';')
    .map((name) => `${name}:${String(request.headers[name]).trim().replace(/ +/g, ' ')}\n`);
  const canonical = [request.method, path, query, headers.join(''), signed, payload].join('\n');
  const [date = '', region = ''] = scope.split('/');
  const key = ['aws4_request'].reduce(hmac, hmac(hmac(hmac(`AWS4${SECRET_ACCESS_KEY}`, date), region), 's3'));
  const text = ['AWS4-HMAC-SHA256', dated, scope, hex(canonical)].join('\n');
  return hmac(key, text).toString('hex') === signature ? undefined : 'SignatureDoesNotMatch';
}

const STATUS: Readonly<Record<string, number>> = {
  AccessDenied: 403,
  InvalidAccessKeyId: 403,
  SignatureDoesNotMatch: 403,
  XAmzContentSHA256Mismatch: 400,
  BadDigest: 400,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  PreconditionFailed: 412,
  NotImplemented: 501,
};

/** An S3 server with one bucket, in memory. It checks signatures and checksums, and fails on demand. */
export async function s3Server(bucket = 'reports'): Promise<S3Server> {
  const uploads = new Map<string, { headers: IncomingMessage['headers']; parts: Map<number, Buffer> }>();
  const state: S3Server = {
    url: '',
    bucket,
    objects: new Map(),
    uploads,
    requests: [],
    now: Date.now,
    conditional: true,
    page: PAGE,
    delayMs: 0,
    fault: () => undefined,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  const refuse = (response: ServerResponse, status: number, code: string, message = code): void => {
    // S3 also repeats the signed request and the id of the key.
    const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message><AWSAccessKeyId>${ACCESS_KEY_ID}</AWSAccessKeyId></Error>`;
    response.writeHead(status, { 'content-type': 'application/xml' }).end(body);
  };

  /** A page of ListObjectsV2. */
  function listing(query: URLSearchParams): string {
    const [prefix, delimiter] = [query.get('prefix') ?? '', query.get('delimiter') ?? ''];
    const after = query.get('continuation-token') ?? '';
    const all = [...state.objects]
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, { at }]) => {
        const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
        return end === -1 ? { key, at: at ?? state.now() } : { key: key.slice(0, end + 1), at: undefined };
      });
    const entries = [...new Map(all.map((entry) => [entry.key, entry])).values()]
      .sort((one, other) => Buffer.compare(Buffer.from(one.key), Buffer.from(other.key)))
      .filter(({ key }) => key > after);
    const page = entries.slice(0, state.page);
    const more = entries.length > state.page;
    const text = (raw: string): string => raw.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    return [
      `<?xml version="1.0"?><ListBucketResult><Name>${bucket}</Name><IsTruncated>${more}</IsTruncated>`,
      more ? `<NextContinuationToken>${text(page.at(-1)?.key ?? '')}</NextContinuationToken>` : '',
      ...page.map(({ key, at }) =>
        at === undefined
          ? `<CommonPrefixes><Prefix>${text(key)}</Prefix></CommonPrefixes>`
          : `<Contents><Key>${text(key)}</Key><LastModified>${new Date(at).toISOString()}</LastModified><Size>1</Size></Contents>`,
      ),
      '</ListBucketResult>',
    ].join('');
  }

  /** Carries out the request. Returns the response, or S3's error code. */
  function carryOut(
    { method, key, query, headers }: S3Request,
    body: Buffer,
  ): { headers?: Record<string, string>; body?: Buffer | string } | string {
    const { objects } = state;
    const digest = headers['x-amz-checksum-sha256'];
    if (digest !== undefined && digest !== createHash('sha256').update(body).digest('base64')) return 'BadDigest';
    const only = headers['if-none-match'] === '*';
    if (only && state.conditional === 'refuse') return 'NotImplemented';
    const taken = only && state.conditional === true && objects.has(key);
    const upload = uploads.get(query.get('uploadId') ?? '');
    if (query.has('uploadId') && upload === undefined) return 'NoSuchUpload';
    if (method === 'POST' && query.has('uploads')) {
      const id = randomBytes(8).toString('hex');
      uploads.set(id, { headers, parts: new Map() });
      return {
        body: `<InitiateMultipartUploadResult><Bucket>${bucket}</Bucket><Key>${key}</Key><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
      };
    }
    if (method === 'PUT' && upload !== undefined) {
      upload.parts.set(Number(query.get('partNumber')), body);
      return { headers: { etag: `"${hex(body).slice(0, 32)}"` } };
    }
    if (method === 'POST' && upload !== undefined) {
      if (taken) return 'PreconditionFailed';
      const parts = [...upload.parts].sort(([one], [other]) => one - other).map(([, bytes]) => bytes);
      objects.set(key, { bytes: Buffer.concat(parts), headers: upload.headers, at: state.now() });
      uploads.delete(query.get('uploadId') ?? '');
      return {
        body: `<CompleteMultipartUploadResult><Bucket>${bucket}</Bucket><Key>${key}</Key><ETag>"x"</ETag></CompleteMultipartUploadResult>`,
      };
    }
    if (method === 'DELETE' && upload !== undefined) {
      uploads.delete(query.get('uploadId') ?? '');
      return {};
    }
    if (method === 'PUT') {
      if (taken) return 'PreconditionFailed';
      objects.set(key, { bytes: body, headers, at: state.now() });
      return { headers: { etag: `"${hex(body).slice(0, 32)}"` } };
    }
    if (method === 'DELETE') {
      const { until = 0, hold = false } = objects.get(key)?.lock ?? {};
      if (hold || until > state.now()) return 'AccessDenied';
      objects.delete(key);
      return {};
    }
    if (query.get('list-type') === '2') return { body: listing(query) };
    const found = objects.get(key);
    if (found === undefined) return 'NoSuchKey';
    const meta = Object.entries(found.headers).filter(
      ([name]) => name.startsWith('x-amz-meta-') || name === 'content-type' || name === 'content-disposition',
    );
    const { until, hold } = found.lock ?? {};
    const lock = {
      ...(until === undefined
        ? {}
        : {
            'x-amz-object-lock-mode': 'COMPLIANCE',
            'x-amz-object-lock-retain-until-date': new Date(until).toISOString(),
          }),
      ...(hold ? { 'x-amz-object-lock-legal-hold': 'ON' } : {}),
    };
    return {
      headers: { ...Object.fromEntries(meta.map(([name, value]) => [name, String(value)])), ...lock },
      body: found.bytes,
    };
  }

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://store');
    const [, asked = '', ...rest] = pathname.split('/').map(decodeURIComponent);
    const slow = state.delayMs;
    if (slow > 0) await new Promise((resolve) => setTimeout(resolve, slow));
    const reported: S3Request = {
      method: request.method ?? '',
      key: rest.join('/'),
      query: searchParams,
      headers: request.headers,
    };
    state.requests.push(reported);
    const wrong = signatureFault(request, body, state.now()) ?? (asked === bucket ? undefined : 'NoSuchBucket');
    if (wrong !== undefined) return refuse(response, STATUS[wrong] ?? 400, wrong);
    const fault = state.fault(reported);
    const done = fault?.when === 'before' ? undefined : carryOut(reported, body);
    if (fault !== undefined) {
      if (fault.how === 'reset') return void request.socket.resetAndDestroy();
      if (fault.how === 'close') return void request.socket.end();
      if (fault.how === 'hang') return;
      return refuse(response, fault.how.status, fault.how.code, fault.how.message);
    }
    if (typeof done === 'string') return refuse(response, STATUS[done] ?? 400, done);
    const content = Buffer.from(done?.body ?? '');
    response.writeHead(200, { 'content-type': 'application/xml', ...done?.headers, 'content-length': content.length });
    response.end(request.method === 'HEAD' ? undefined : content);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(state, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}
