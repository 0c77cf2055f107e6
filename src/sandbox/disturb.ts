import type { ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { catalogSchema } from '../contract/catalog.ts';
import { FAULT_KINDS, type Fault } from './fault.ts';

/** Marks an answer that never reached the client whole. It is the server's own, and is not sent. */
export const UNANSWERED = 'x-sandbox-unanswered';

const page = (title: string) =>
  `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n</body>\r\n</html>\r\n`;

const unanswered = (): Response => {
  const response = new Response(null, RESPONSE_ALREADY_SENT);
  response.headers.set(UNANSWERED, '1');
  return response;
};

/**
 * Answers a request of these headers with the faults that hit it: delays first, then the first fault that answers instead of the
 * service, or the service itself.
 */
export async function disturb(
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
  const served = old === undefined ? serve : async () => olderCatalog(await serve(), amount(old));
  const response =
    fault === undefined ? await served() : await instead(headers, fault, amount(fault), served, outgoing, stopping);
  if (skewMs !== 0) response.headers.set('Date', new Date(Date.now() + skewMs).toUTCString());
  return response;
}

/** A catalog as it was read before the newest groups were made; a refusal as it is. */
async function olderCatalog(response: Response, groups: number): Promise<Response> {
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

async function instead(
  headers: Readonly<Record<string, unknown>>,
  fault: Fault,
  value: number,
  serve: () => Promise<Response>,
  outgoing: ServerResponse,
  stopping: AbortSignal,
): Promise<Response> {
  const html = { 'Content-Type': 'text/html' };
  switch (fault.kind) {
    case 'throttle':
      return Response.json(
        { detail: `Too many requests: wait ${value} s.`, code: 'rate.throttled', correlation_id: crypto.randomUUID() },
        { status: 429, headers: { 'Retry-After': String(value) } },
      );
    case 'status':
      return new Response(page(`${value} ${value === 502 ? 'Bad Gateway' : 'Server Error'}`), {
        status: value,
        headers: html,
      });
    case 'echo':
      return Response.json(
        {
          detail: `Not now: ${JSON.stringify(headers)}`,
          code: 'service.unavailable',
          correlation_id: crypto.randomUUID(),
        },
        { status: 503 },
      );
    case 'content-type':
      return new Response(page('Maintenance'), { headers: html });
    case 'reset':
      outgoing.socket?.resetAndDestroy();
      return unanswered();
    case 'hang':
      await new Promise<void>((resolve) => {
        stopping.addEventListener('abort', () => resolve(), { once: true });
        outgoing.once('close', () => resolve());
      });
      return unanswered();
    case 'truncate': {
      const response = await serve();
      const body = Buffer.from(await response.arrayBuffer());
      outgoing.writeHead(response.status, {
        ...Object.fromEntries(response.headers),
        'Content-Length': String(body.length),
      });
      await new Promise<void>((resolve) => outgoing.write(body.subarray(0, body.length >> 1), () => resolve()));
      outgoing.socket?.destroy();
      return unanswered();
    }
    case 'latency':
    case 'old-catalog':
    case 'clock':
      return serve();
  }
}
