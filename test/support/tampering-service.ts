import type { ReportRequest } from '../../src/contract/report.ts';
import { type HostileServer, hostileServer } from './hostile-server.ts';

/** The response of a report as JSON, to be changed in place. */
export interface ReportBody {
  meta: Record<string, unknown>;
  columns: Record<string, unknown>[];
  rows: (Record<string, unknown> & { compare?: Record<string, unknown> })[];
  totals?: Record<string, unknown> & { compare?: Record<string, unknown> };
}

/** The changes of the proxy. Whatever is absent passes unchanged. */
export interface Tampering {
  readonly report?: ((body: ReportBody, request: ReportRequest) => void) | undefined;
  /** Rejects a report request with 422 and this error; undefined passes it on. */
  readonly refuse?: ((request: ReportRequest) => Record<string, unknown> | undefined) | undefined;
  readonly catalog?: (body: { metrics: Record<string, unknown>[] }) => void;
  /** @param url of the request to the service */
  readonly list?: (body: { next: string | null; results: Record<string, unknown>[] }, url: URL) => void;
}

export interface TamperingService extends Pick<HostileServer, 'url' | 'requests' | 'close'> {
  tell(lies: Tampering): void;
}

/** A proxy in front of a service that answers 200, over real HTTP. It changes nothing until a test tells it to. */
export async function tamperingService(service: string | (() => string)): Promise<TamperingService> {
  const server = await hostileServer();
  let lies: Tampering = {};
  server.behave(async (request, response, text) => {
    const refused = request.url?.includes('/analytics/report/') ? lies.refuse?.(JSON.parse(text)) : undefined;
    if (refused !== undefined) {
      response.writeHead(422, { 'content-type': 'application/json' }).end(JSON.stringify(refused));
      return;
    }
    const base = typeof service === 'string' ? service : service();
    const asked = await fetch(`${base}${request.url}`, {
      method: request.method ?? 'GET',
      headers: {
        authorization: request.headers.authorization ?? '',
        ...(text === '' ? {} : { 'content-type': 'application/json' }),
      },
      ...(text === '' ? {} : { body: text }),
    });
    // The original response, which the sandbox's tests check against the contract.
    const body = JSON.parse(await asked.text());
    const path = request.url ?? '';
    if (asked.status === 200) {
      if (path.includes('/analytics/report/')) lies.report?.(body, JSON.parse(text));
      else if (path.includes('/analytics/metrics/')) lies.catalog?.(body);
      else if (path.includes('/profiles/')) lies.list?.(body, new URL(path, base));
    }
    response.writeHead(asked.status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  return {
    url: server.url,
    requests: server.requests,
    close: () => server.close(),
    tell: (next) => {
      lies = next;
    },
  };
}
