import { type Dispatcher, Pool } from 'undici';
import { z } from 'zod';
import { type Clock, systemClock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import { createRedactor, foreignText, type Redactor } from '../base/redactor.ts';
import type { Secret } from '../base/secret.ts';
import { noTrace, type TellSpan, type Trace } from '../base/trace.ts';
import { type Catalog, catalogSchema } from '../contract/catalog.ts';
import {
  type ListRecord,
  listBodySchema,
  type Organization,
  type OrgRef,
  organizationSchema,
  PATHS,
} from '../contract/organization.ts';
import { type ReportRequest, type ReportResponse, reportResponseSchema } from '../contract/report.ts';
import { checkedJson, networkError, readBody, type Timeouts } from './body.ts';
import { clip, clipName } from './clip.ts';
import { refusalError } from './refusal.ts';

/** No call takes longer, from dispatch to the last byte. */
export const CALL_TIMEOUT_MS = 60_000;

const TIMEOUTS: Timeouts = { connect: 5_000, headers: 30_000, body: 15_000, total: CALL_TIMEOUT_MS };

/** A decoded answer larger than this is refused: a report has at most 5,000 rows. */
const MAX_BYTES = 64 * 1024 * 1024;

export interface ClientOptions {
  /** COMPLIANCE_API_URL; a path prefix is kept. */
  readonly baseUrl: string;
  readonly key: Secret;
  readonly timeouts?: Partial<Timeouts>;
  /** Of the process: takes our secrets out of what the service says. One that knows the key alone when absent. */
  readonly redactor?: Redactor | undefined;
  /** Another connection pool than our own; it stays the caller's to close. */
  readonly dispatcher?: Dispatcher;
  /** The largest decoded body, in bytes. */
  readonly maxBytes?: number;
  readonly clock?: Clock;
  /** Told of every request that was answered or has failed; not of one that was aborted by its caller. */
  readonly told?: (news: RequestNews) => void;
  /** Where each request is a span; none is made when absent. The service is told nothing of it. */
  readonly trace?: Trace | undefined;
}

/** How a request ended. */
export interface RequestNews {
  readonly endpoint: 'organizations' | 'catalog' | 'report' | 'list';
  /** `unreadable`: it answered 200, and with something that is no answer. */
  readonly status: '2xx' | '3xx' | '4xx' | '429' | '5xx' | 'timeout' | 'unreachable' | 'unreadable';
  readonly ms: number;
}

export interface Answered<Body> {
  readonly body: Body;
  /** From the `x-correlation-id` header; null where the service does not send one with a good answer. */
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
  /** A path of this list, to be asked for at our own origin whatever origin the service named. */
  readonly next: string | null;
  readonly records: readonly ListRecord[];
}

/**
 * The Compliance Service for one key. Every method is one request: it waits for no budget and tries nothing twice.
 * Failures are classified once, as `DocketError`: `retryable` says whether another try can help. When `signal` aborts,
 * the promise rejects with its reason. The key is in no error, and goes to no other origin.
 */
export interface ComplianceClient {
  /** The base URL: an answer of one service is never taken for another's. */
  readonly service: string;
  /** A request is given up this long (ms) after dispatch, so a token need not be held longer for want of a reply. */
  readonly deadlineMs: number;
  /** Every organization the key can reach. */
  organizations(signal: AbortSignal): Promise<Organization[]>;
  catalog(org: OrgRef, signal: AbortSignal): Promise<Catalog>;
  report(org: OrgRef, request: ReportRequest, signal: AbortSignal): Promise<Answered<ReportResponse>>;
  /** The first page of the list, or the one that a page before it named as `next`. */
  page(query: ListQuery, next: string | null, signal: AbortSignal): Promise<ListPage>;
  close(): Promise<void>;
}

interface Request {
  readonly endpoint: RequestNews['endpoint'];
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
}

/** Throws `config.invalid` for a key that cannot be one. */
export function createClient(options: ClientOptions): ComplianceClient {
  // Such a key cannot stand in a header, and would fail each call as if the network had.
  if (!/^[\x21-\x7e]+$/.test(options.key.reveal())) {
    throw new DocketError('config.invalid', 'The API key has characters that no key has.', {
      expected: 'prefix.secret in one line, without spaces',
      next: "Check what the secret that `api_key` in org.yaml refers to holds: only the key's own text may be in it.",
    });
  }
  // Of the data only the whole key is taken out, which the service alone can have put there: a weak password may be a label,
  // and so may the beginning of the key.
  const ownKey = createRedactor({ shapes: false, partial: false });
  ownKey.learn(options.key.reveal());
  const { learn, redact } = options.redactor ?? createRedactor();
  learn(options.key.reveal());
  const base = new URL(options.baseUrl);
  const prefix = base.pathname.replace(/\/+$/, '');
  const server = base.hostname;
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const maxBytes = options.maxBytes ?? MAX_BYTES;
  const clock = options.clock ?? systemClock;
  const trace = options.trace ?? noTrace;
  const dispatcher =
    options.dispatcher ?? new Pool(base.origin, { connect: { timeout: timeouts.connect }, keepAliveTimeout: 30_000 });

  function send<Schema extends z.ZodType>(
    request: Request,
    schema: Schema,
    outer: AbortSignal,
  ): Promise<Answered<z.output<Schema>>> {
    const { method, endpoint, path } = request;
    const span = {
      name: `${method} ${endpoint}`,
      kind: 'client',
      method,
      path: path.split('?')[0] ?? path,
      server,
    } as const;
    return trace.span(span, (tell) => ask(request, schema, outer, tell));
  }

  async function ask<Schema extends z.ZodType>(
    request: Request,
    schema: Schema,
    outer: AbortSignal,
    tellSpan: TellSpan,
  ): Promise<Answered<z.output<Schema>>> {
    const { method, path } = request;
    // Without the query: a search text may name a person, and errors travel.
    const where = `${method} ${path.split('?')[0]}`;
    outer.throwIfAborted();
    const begun = clock.now();
    let answered: number | undefined;
    const tell = (status: RequestNews['status']): void =>
      options.told?.({ endpoint: request.endpoint, status, ms: Math.max(0, clock.now() - begun) });
    const total = AbortSignal.timeout(timeouts.total);
    const signal = AbortSignal.any([outer, total]);
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
        return first === undefined ? undefined : foreignText(first, redact);
      };
      answered = response.statusCode;
      tellSpan({ status: answered });
      const bytes = await readBody(response.body, header, { maxBytes, where });
      if (response.statusCode !== 200) {
        throw refusalError({ status: response.statusCode, where, header, body: bytes, redact }, clock.now());
      }
      const body = checkedJson(bytes, header('content-type'), schema, { where, redact: ownKey.redact });
      tell('2xx');
      const named = header('x-correlation-id');
      const correlationId = named === undefined ? null : clipName(named);
      if (correlationId !== null) tellSpan({ correlation_id: correlationId });
      return { body, correlationId };
    } catch (error) {
      if (outer.aborted) throw outer.reason;
      const failure =
        error instanceof DocketError ? error : networkError(error, where, base.origin, total.aborted, timeouts);
      tell(statusOf(answered, failure));
      throw failure;
    }
  }

  const listPath = (query: ListQuery) => `${prefix}${PATHS.list(query.org, query.list)}`;

  /**
   * The page that `next` names, by our own query, or `api.unsafe`: a `next` that lost the search would bring other people's
   * records into the report. Only the page's number is the service's to say (specification §4, rule 1). Its origin is never followed: behind a proxy a service may know itself
   * by another scheme, port or name than we do, and the key goes only to the address that was configured.
   */
  const nextPage = (next: string, query: ListQuery): string => {
    const url = URL.canParse(next, base.origin) ? new URL(next, base.origin) : undefined;
    const own = [listPath(query), PATHS.list(query.org, query.list)];
    const ofList = url !== undefined && /^https?:$/.test(url.protocol) && own.includes(url.pathname);
    const page = url?.searchParams.get('page') ?? null;
    if (ofList && page !== null && /^[1-9]\d{0,8}$/.test(page)) return pageOf(listPath(query), query, page);
    throw new DocketError('api.unsafe', 'The list names a next page that is not of this list; it was not asked for.', {
      where: `GET ${listPath(query)}`,
      expected: `a numbered page of ${listPath(query)}`,
      got: url === undefined ? 'no URL' : `${clip(`${url.origin}${url.pathname}`)}, page ${clipName(page ?? 'none')}`,
      next: 'Report it to the service. The address in COMPLIANCE_API_URL is not the cause: leave it as it is.',
    });
  };

  return {
    service: base.origin + prefix,
    deadlineMs: timeouts.total,
    organizations: async (signal) => {
      const request = { endpoint: 'organizations', method: 'GET', path: `${prefix}${PATHS.organizations}` } as const;
      return (await send(request, z.array(organizationSchema), signal)).body;
    },
    catalog: async (org, signal) => {
      const request = { endpoint: 'catalog', method: 'GET', path: `${prefix}${PATHS.catalog(org)}` } as const;
      return (await send(request, catalogSchema, signal)).body;
    },
    report: async (org, body, signal) =>
      send(
        { endpoint: 'report', method: 'POST', path: `${prefix}${PATHS.report(org)}`, body },
        reportResponseSchema,
        signal,
      ),
    page: async (query, next, signal) => {
      const path = next === null ? pageOf(listPath(query), query) : nextPage(next, query);
      const { body } = await send({ endpoint: 'list', method: 'GET', path }, listBodySchema, signal);
      if (Array.isArray(body)) return { count: null, next: null, records: body };
      const following = body.next === null ? null : nextPage(body.next, query);
      return { count: body.count, next: following, records: body.results };
    },
    close: async () => {
      if (options.dispatcher === undefined) await dispatcher.close();
    },
  };
}

/** @param answered the status, when there was one before it failed */
function statusOf(answered: number | undefined, { code }: DocketError): RequestNews['status'] {
  // An answer that broke off is none, whatever it began with.
  if (code === 'api.timeout') return 'timeout';
  if (code === 'api.unreachable' || answered === undefined) return 'unreachable';
  if (answered === 200) return 'unreadable';
  if (answered === 429) return '429';
  return answered >= 500 ? '5xx' : answered >= 400 ? '4xx' : answered >= 300 ? '3xx' : '2xx';
}

/** @param page absent: the first */
function pageOf(path: string, { ordering, search }: ListQuery, page?: string): string {
  const query = new URLSearchParams({
    ...(page === undefined ? {} : { page }),
    ...(ordering === undefined ? {} : { ordering }),
    ...(search === undefined ? {} : { search }),
  });
  return query.size === 0 ? path : `${path}?${query}`;
}
