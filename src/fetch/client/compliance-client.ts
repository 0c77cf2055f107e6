import { type Dispatcher, Pool } from 'undici';
import { z } from 'zod';
import { type Clock, systemClock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import { createRedactor, type Redact, type Redactor, redactUntrusted } from '../../base/secrets/redactor.ts';
import type { Secret } from '../../base/secrets/secret.ts';
import { noTrace, type SetSpanAttributes, type Trace } from '../../base/trace.ts';
import { type Catalog, catalogSchema } from '../../contract/catalog.ts';
import {
  type ListRecord,
  listBodySchema,
  type Organization,
  type OrgRef,
  organizationSchema,
  PATHS,
} from '../../contract/organization.ts';
import { type ReportRequest, type ReportResponse, reportResponseSchema } from '../../contract/report.ts';
import { httpError } from './http-error.ts';
import { networkError, type RequestTimeouts } from './network-error.ts';
import { parseResponse, readBody } from './response-body.ts';
import { truncateId, truncateLine } from './untrusted-input.ts';

/** Time limit of a call, from dispatch to the last byte. */
export const CALL_TIMEOUT_MS = 60_000;

const DEFAULT_TIMEOUTS: RequestTimeouts = { connect: 5_000, headers: 30_000, body: 15_000, total: CALL_TIMEOUT_MS };

/** Size limit of a decoded response: a report has at most 5,000 rows. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

export interface ClientOptions {
  /** COMPLIANCE_API_URL; a path prefix is kept. */
  readonly baseUrl: string;
  readonly key: Secret;
  readonly timeouts?: Partial<RequestTimeouts>;
  /** Removes secrets from untrusted text. Default: knows only this client's key. */
  readonly redactor?: Redactor | undefined;
  /** `keyRedactor` of the key, if the caller already has it: creating one costs more than the rest of a client. */
  readonly redactKey?: Redact;
  /** A connection pool that the caller closes. Default: the client has its own. */
  readonly dispatcher?: Dispatcher;
  /** The largest decoded body, in bytes. */
  readonly maxBytes?: number;
  readonly clock?: Clock;
  /** Called when a request was answered or has failed, but not when its caller aborted it. */
  readonly onRequestEnd?: (result: ApiRequestResult) => void;
  /** Records each request as a span. No trace headers are sent to the service. */
  readonly trace?: Trace | undefined;
}

/** How a request ended. */
export interface ApiRequestResult {
  readonly endpoint: 'organizations' | 'catalog' | 'report' | 'list';
  /** `unreadable`: a 200 with an invalid body. */
  readonly status: '2xx' | '3xx' | '4xx' | '429' | '5xx' | 'timeout' | 'unreachable' | 'unreadable';
  readonly ms: number;
}

export interface ApiResponse<Body> {
  readonly body: Body;
  /** From the `x-correlation-id` header; null without one. */
  readonly correlationId: string | null;
}

export interface ListQuery {
  readonly org: number;
  readonly list: 'profiles';
  readonly ordering?: string | undefined;
  readonly search?: string | undefined;
}

export interface ListPage {
  /** Null for a list without an envelope. */
  readonly count: number | null;
  /** Path of the next page, always on the configured origin, whatever origin the service named. */
  readonly next: string | null;
  readonly records: readonly ListRecord[];
}

/**
 * Client of the Compliance Service for one API key. Every method sends one request, without rate limit or retries.
 * Throws `DocketError`; `retryable` says whether a retry can help. Rejects with the reason of `signal` when it aborts.
 * No error contains the key, and it is sent to no other origin.
 */
export type ComplianceClient = ReturnType<typeof createClient>;

interface Request {
  readonly endpoint: ApiRequestResult['endpoint'];
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
}

/**
 * Removes a key from data. Only the whole key is removed: a weak password, or the beginning of a key, may also be a
 * label.
 */
export function keyRedactor(key: string): Redact {
  const { registerSecret, redact } = createRedactor({ shapes: false, partial: false });
  registerSecret(key);
  return redact;
}

/** Throws `config.invalid` for a malformed key. */
export function createClient(options: ClientOptions) {
  // HTTP does not allow such a key in a header, and each call would fail like a network error.
  if (!/^[\x21-\x7e]+$/.test(options.key.reveal())) {
    throw new DocketError('config.invalid', 'The API key contains invalid characters.', {
      expected: 'prefix.secret in one line, without spaces',
      next: 'Check the secret that `api_key` in org.yaml refers to: it must contain the key alone.',
    });
  }
  const redactKey = options.redactKey ?? keyRedactor(options.key.reveal());
  const { registerSecret, redact } = options.redactor ?? createRedactor();
  registerSecret(options.key.reveal());
  const base = new URL(options.baseUrl);
  const prefix = base.pathname.replace(/\/+$/, '');
  const server = base.hostname;
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const maxBytes = options.maxBytes ?? MAX_RESPONSE_BYTES;
  const clock = options.clock ?? systemClock;
  const trace = options.trace ?? noTrace;
  const dispatcher =
    options.dispatcher ?? new Pool(base.origin, { connect: { timeout: timeouts.connect }, keepAliveTimeout: 30_000 });

  function send<Schema extends z.ZodType>(
    request: Request,
    schema: Schema,
    caller: AbortSignal,
  ): Promise<ApiResponse<z.output<Schema>>> {
    const { method, endpoint, path } = request;
    const span = {
      name: `${method} ${endpoint}`,
      kind: 'client',
      method,
      path: path.split('?')[0] ?? path,
      server,
    } as const;
    return trace.span(span, (setAttributes) => sendOnce(request, schema, caller, setAttributes));
  }

  async function sendOnce<Schema extends z.ZodType>(
    request: Request,
    schema: Schema,
    caller: AbortSignal,
    setAttributes: SetSpanAttributes,
  ): Promise<ApiResponse<z.output<Schema>>> {
    const { method, path } = request;
    // Without the query: a search text may be a person's name, and errors are logged.
    const where = `${method} ${path.split('?')[0]}`;
    caller.throwIfAborted();
    const startedAt = clock.now();
    let receivedStatus: number | undefined;
    const reportEnd = (status: ApiRequestResult['status']): void =>
      options.onRequestEnd?.({ endpoint: request.endpoint, status, ms: Math.max(0, clock.now() - startedAt) });
    const total = AbortSignal.timeout(timeouts.total);
    const signal = AbortSignal.any([caller, total]);
    try {
      const response = await dispatcher.request({
        origin: base.origin,
        path,
        method,
        signal,
        headersTimeout: timeouts.headers,
        bodyTimeout: timeouts.body,
        headers: {
          authorization: `Api-Key ${options.key.reveal()}`,
          accept: 'application/json',
          'accept-encoding': 'gzip',
          ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: request.body === undefined ? null : JSON.stringify(request.body),
      });
      const header = (name: string): string | undefined => {
        const value = response.headers[name];
        const first = Array.isArray(value) ? value[0] : value;
        return first === undefined ? undefined : redactUntrusted(first, redact);
      };
      receivedStatus = response.statusCode;
      setAttributes({ status: receivedStatus });
      const bytes = await readBody(response.body, header, { maxBytes, where });
      if (response.statusCode !== 200) {
        throw httpError({ status: response.statusCode, where, header, body: bytes, redact }, clock.now());
      }
      const body = parseResponse(bytes, header('content-type'), schema, {
        where,
        redact: redactKey,
        // Figures are checked against the catalog, but fields of records may be ids of any length.
        exactNumbers: request.endpoint === 'list',
      });
      reportEnd('2xx');
      const id = header('x-correlation-id');
      const correlationId = id === undefined ? null : truncateId(id);
      if (correlationId !== null) setAttributes({ correlation_id: correlationId });
      return { body, correlationId };
    } catch (error) {
      if (caller.aborted) throw caller.reason;
      const failure =
        error instanceof DocketError
          ? error
          : networkError(error, { where, origin: base.origin, deadlinePassed: total.aborted, timeouts });
      reportEnd(resultStatus(receivedStatus, failure));
      throw failure;
    }
  }

  const listPath = (query: ListQuery) => `${prefix}${PATHS.list(query.org, query.list)}`;

  /**
   * Path of the page that `next` names; throws `api.unsafe` for a bad link. Only the page number is taken from `next`
   * (specification §4, rule 1): a link without our search would add other people's records. Its origin is ignored:
   * behind a proxy a service may have another scheme, port or name, and the key is sent to the configured address only.
   */
  const nextPage = (next: string, query: ListQuery): string => {
    const url = URL.canParse(next, base.origin) ? new URL(next, base.origin) : undefined;
    const listPaths = [listPath(query), PATHS.list(query.org, query.list)];
    const isListUrl = url !== undefined && /^https?:$/.test(url.protocol) && listPaths.includes(url.pathname);
    const page = url?.searchParams.get('page') ?? null;
    if (isListUrl && page !== null && /^[1-9]\d{0,8}$/.test(page)) return pagePath(listPath(query), query, page);
    throw new DocketError('api.unsafe', "The list's `next` link does not belong to this list; it was not followed.", {
      where: `GET ${listPath(query)}`,
      expected: `a numbered page of ${listPath(query)}`,
      got:
        url === undefined
          ? 'no URL'
          : `${truncateLine(`${url.origin}${url.pathname}`)}, page ${truncateId(page ?? 'none')}`,
      next: 'Report it to the service. COMPLIANCE_API_URL is not the cause.',
    });
  };

  return {
    /** The base URL. It is part of cache keys, so that responses of two services are never mixed. */
    service: base.origin + prefix,
    /** A request is aborted this long (ms) after dispatch. This limits how long its token is held without a reply. */
    requestTimeoutMs: timeouts.total,
    /** All organizations the key can access. */
    organizations: async (signal: AbortSignal): Promise<Organization[]> => {
      const request = { endpoint: 'organizations', method: 'GET', path: `${prefix}${PATHS.organizations}` } as const;
      return (await send(request, z.array(organizationSchema), signal)).body;
    },
    catalog: async (org: OrgRef, signal: AbortSignal): Promise<Catalog> => {
      const request = { endpoint: 'catalog', method: 'GET', path: `${prefix}${PATHS.catalog(org)}` } as const;
      return (await send(request, catalogSchema, signal)).body;
    },
    report: async (org: OrgRef, body: ReportRequest, signal: AbortSignal): Promise<ApiResponse<ReportResponse>> =>
      send(
        { endpoint: 'report', method: 'POST', path: `${prefix}${PATHS.report(org)}`, body },
        reportResponseSchema,
        signal,
      ),
    /** Fetches the first page of the list, or the page that `next` of an earlier page names. */
    listPage: async (query: ListQuery, next: string | null, signal: AbortSignal): Promise<ListPage> => {
      const path = next === null ? pagePath(listPath(query), query) : nextPage(next, query);
      const { body } = await send({ endpoint: 'list', method: 'GET', path }, listBodySchema, signal);
      if (Array.isArray(body)) return { count: null, next: null, records: body };
      const following = body.next === null ? null : nextPage(body.next, query);
      return { count: body.count, next: following, records: body.results };
    },
    close: async (): Promise<void> => {
      if (options.dispatcher === undefined) await dispatcher.close();
    },
  };
}

/** @param received the HTTP status, if one was received before the failure */
function resultStatus(received: number | undefined, { code }: DocketError): ApiRequestResult['status'] {
  // A truncated response counts as no response, whatever its status.
  if (code === 'api.timeout') return 'timeout';
  if (code === 'api.unreachable' || received === undefined) return 'unreachable';
  if (received === 200) return 'unreadable';
  if (received === 429) return '429';
  return received >= 500 ? '5xx' : received >= 400 ? '4xx' : received >= 300 ? '3xx' : '2xx';
}

/** @param page absent: the first page */
function pagePath(path: string, { ordering, search }: ListQuery, page?: string): string {
  const query = new URLSearchParams({
    ...(page === undefined ? {} : { page }),
    ...(ordering === undefined ? {} : { ordering }),
    ...(search === undefined ? {} : { search }),
  });
  return query.size === 0 ? path : `${path}?${query}`;
}
