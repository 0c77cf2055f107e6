import type { ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { systemClock } from '../base/clock.ts';
import { catalogSchema } from '../contract/catalog.ts';
import { FAULT_KINDS, type Fault, type FaultKind } from './faults.ts';

/** Internal header that marks an incomplete response. It is not sent to clients. */
export const ABORTED_HEADER = 'x-sandbox-unanswered';

const htmlPage = (title: string) =>
  `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n</body>\r\n</html>\r\n`;

const abortedResponse = (): Response => {
  const response = new Response(null, RESPONSE_ALREADY_SENT);
  response.headers.set(ABORTED_HEADER, '1');
  return response;
};

/**
 * Applies the faults that match a request: first delays, then the first fault that replaces the response, otherwise the
 * service responds.
 */
export async function respondWithFaults(
  headers: Readonly<Record<string, unknown>>,
  faults: readonly Fault[],
  skewMs: number,
  serve: () => Promise<Response>,
  outgoing: ServerResponse,
  sleep: (ms: number) => Promise<void>,
  stopping: AbortSignal,
): Promise<Response> {
  const amount = (fault: Fault) => fault.value ?? FAULT_KINDS[fault.kind].default;
  for (const fault of faults) if (fault.kind === 'latency') await sleep(amount(fault));
  const old = faults.find(({ kind }) => kind === 'old-catalog');
  const fault = faults.find(({ kind }) => kind !== 'latency' && kind !== 'old-catalog');
  const served = old === undefined ? serve : async () => outdatedCatalog(await serve(), amount(old));
  const response = await (fault === undefined
    ? served()
    : faultResponse(headers, fault.kind, amount(fault), served, outgoing, stopping));
  if (skewMs !== 0) response.headers.set('Date', new Date(systemClock.now() + skewMs).toUTCString());
  return response;
}

/** Removes the newest groups from a catalog. Error responses stay unchanged. */
async function outdatedCatalog(response: Response, groups: number): Promise<Response> {
  if (!response.ok) return response;
  const sent = Buffer.from(await response.arrayBuffer());
  const text = response.headers.get('Content-Encoding') === 'gzip' ? gunzipSync(sent) : sent;
  const { dimensions, ...rest } = catalogSchema.parse(JSON.parse(text.toString()));
  return Response.json({
    ...rest,
    dimensions: dimensions.map((dimension) =>
      dimension.id === 'profile.group'
        ? { ...dimension, values: dimension.values.slice(0, Math.max(0, dimension.values.length - groups)) }
        : dimension,
    ),
  });
}

async function faultResponse(
  headers: Readonly<Record<string, unknown>>,
  kind: FaultKind,
  value: number,
  serve: () => Promise<Response>,
  outgoing: ServerResponse,
  stopping: AbortSignal,
): Promise<Response> {
  const html = { 'Content-Type': 'text/html' };
  const problem = (status: number, code: string, detail: string, more?: Record<string, string>) =>
    Response.json({ detail, code, correlation_id: crypto.randomUUID() }, { status, headers: more ?? {} });
  switch (kind) {
    case 'throttle':
      return problem(429, 'rate.throttled', `Too many requests: wait ${value} s.`, { 'Retry-After': String(value) });
    case 'status':
      return new Response(htmlPage(`${value} ${value === 502 ? 'Bad Gateway' : 'Server Error'}`), {
        status: value,
        headers: html,
      });
    case 'echo':
      return problem(503, 'service.unavailable', `Not now: ${JSON.stringify(headers)}`);
    case 'content-type':
      return new Response(htmlPage('Maintenance'), { headers: html });
    case 'reset':
      outgoing.socket?.resetAndDestroy();
      return abortedResponse();
    case 'hang':
      await new Promise<void>((resolve) => {
        stopping.addEventListener('abort', () => resolve(), { once: true });
        outgoing.once('close', () => resolve());
      });
      return abortedResponse();
    case 'truncate': {
      const response = await serve();
      const body = Buffer.from(await response.arrayBuffer());
      outgoing.writeHead(response.status, {
        ...Object.fromEntries(response.headers),
        'Content-Length': String(body.length),
      });
      await new Promise<void>((resolve) => outgoing.write(body.subarray(0, body.length >> 1), () => resolve()));
      outgoing.socket?.destroy();
      return abortedResponse();
    }
    case 'latency':
    case 'old-catalog':
    case 'clock':
    case 'history':
      return serve();
  }
}
