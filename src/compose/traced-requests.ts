import type { Admin } from '../admin/app.ts';
import type { Trace } from '../base/trace.ts';

/**
 * Requests that may change something as spans, in the caller's trace where it has one (`traceparent`). Looks are none: a
 * page that watches would be most of all traces.
 */
export function tracedRequests(app: Pick<Admin, 'fetch'>, trace: Trace | undefined): Pick<Admin, 'fetch'> {
  if (trace === undefined) return app;
  return {
    fetch: (request, ...rest) => {
      const { method, headers, url } = request;
      if (method === 'GET' || method === 'HEAD') return app.fetch(request, ...rest);
      const parent = headers.get('traceparent') ?? undefined;
      const span = { name: method, kind: 'server', method, path: new URL(url).pathname, parent } as const;
      return trace.span(span, async (tell) => {
        const response = await app.fetch(request, ...rest);
        const { status } = response;
        tell({ status, ...(status < 500 ? {} : { error: String(status) }) });
        return response;
      });
    },
  };
}
