import { type ReportResponse, reportResponseSchema } from '../../src/contract/report.ts';
import { buildSandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';

export interface SandboxReply {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON if possible, else text. */
  readonly body: unknown;
}

/** The sandbox without a network, with its endpoints as functions. It has no limits unless a window is given. */
export function inProcessSandbox(options: SandboxOptions = {}) {
  const sandbox = buildSandbox({ windowMs: 1, ...options });
  const keyOf = (label: string) => {
    const found = sandbox.keys.find(({ stored }) => stored.label === label);
    if (found === undefined) throw new Error(`no key ${label}`);
    return found.text;
  };
  const send = async (
    method: string,
    path: string,
    init: RequestInit & { key?: string } = {},
  ): Promise<SandboxReply> => {
    const { key = 'all', ...rest } = init;
    const headers = new Headers({ Authorization: `Api-Key ${keyOf(key)}`, ...Object(rest.headers) });
    const response = await sandbox.app.request(`http://sandbox.test${path}`, { ...rest, method, headers });
    const text = await response.text();
    const json = response.headers.get('Content-Type')?.includes('json') ?? false;
    return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
  };
  const report = (body: unknown, more: { org?: number | string; key?: string } = {}): Promise<SandboxReply> =>
    send('POST', `/api/orgs/${more.org ?? 101}/analytics/report/`, {
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json' },
      ...(more.key === undefined ? {} : { key: more.key }),
    });
  return {
    ...sandbox,
    keyOf,
    send,
    get: (path: string, key = 'all') => send('GET', path, { key }),
    report,
    /** Fetches a report that must succeed. Throws the problem otherwise. */
    async answered(body: unknown, more: { org?: number | string; key?: string } = {}): Promise<ReportResponse> {
      const requested = await report(body, more);
      if (requested.status !== 200) throw new Error(`${requested.status} ${JSON.stringify(requested.body)}`);
      return reportResponseSchema.parse(requested.body);
    },
  };
}
