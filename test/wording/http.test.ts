import { expect, test } from 'vitest';
import type { AdminServices } from '../../src/admin/access/services.ts';
import { newToken, type TokenEntry } from '../../src/admin/auth/tokens.ts';
import { REQUEST_PROBLEMS, toProblemResponse } from '../../src/admin/problem.ts';
import { DocketError, ERRORS, type ErrorCode } from '../../src/base/error.ts';
import { runNotFoundError } from '../../src/run/run-record.ts';
import { createTestAdmin } from '../support/admin.ts';
import { NO_DECISIONS } from '../support/decision-harness.ts';
import { fake } from '../support/fake.ts';
import { runOf } from '../support/page-data.ts';

// The wording of the HTTP API's problem documents, in one snapshot. Other tests assert codes, structure and values.

const operator = newToken();
const viewer = newToken();
const expired = newToken();
const TOKENS: readonly TokenEntry[] = [
  { name: 'ops', sha256: operator.sha256, role: 'operator', orgs: '*' },
  { name: 'eyes', sha256: viewer.sha256, role: 'viewer', orgs: ['acme'] },
  { name: 'old', sha256: expired.sha256, role: 'viewer', orgs: '*', expires: '2020-01-01' },
];
const RUN = { ...runOf('weekly', 'failed'), id: '83b1c1950d0c3b4a5f9a7e3d2c1b0a9f', org: 'acme', report: 'weekly' };

/** One request per line: token, method, path, further headers, body. */
const REQUESTS: readonly (readonly [as: string, method: string, path: string, init?: RequestInit])[] = [
  ['', 'GET', '/api/runs'],
  ['docket_unknown', 'GET', '/api/runs'],
  [expired.token, 'GET', '/api/runs'],
  [viewer.token, 'GET', '/metrics'],
  [viewer.token, 'POST', `/api/runs/${RUN.id}/retry`, { body: '{"reason":"server is back"}' }],
  [viewer.token, 'GET', '/api/runs?org=other'],
  [operator.token, 'GET', '/nothing'],
  [operator.token, 'GET', `/api/runs/${'f'.repeat(32)}`],
  [operator.token, 'GET', '/api/runs/83b1'],
  [operator.token, 'GET', '/api/runs?limit=0&state=lost'],
  [operator.token, 'GET', '/api/runs?after=x'],
  [operator.token, 'GET', '/api/audit?after=x'],
  [operator.token, 'PUT', '/api/runs'],
  [operator.token, 'POST', `/api/runs/${RUN.id}/retry`, { body: '{"reason":"","other":1}' }],
  [operator.token, 'POST', `/api/runs/${RUN.id}/retry`, { body: '{' }],
  [operator.token, 'POST', `/api/runs/${RUN.id}/retry`, { body: 'x'.repeat(70_000) }],
  [operator.token, 'POST', `/api/runs/${RUN.id}/retry`, { body: 'x', headers: { 'content-type': 'text/plain' } }],
  [operator.token, 'POST', `/api/runs/${RUN.id}/retry`, { body: '{"reason":"server is back"}' }],
  [operator.token, 'POST', `/api/runs/${RUN.id}/cancel`, { body: '{"reason":"server is back"}' }],
  [operator.token, 'GET', `/api/runs/${RUN.id}/files`],
];

async function problemText(response: Response): Promise<string> {
  const { type, status, code, ...rest } = (await response.json()) as Record<string, unknown>;
  expect({ type, status }).toEqual({ type: `urn:docket:problem:${String(code)}`, status: response.status });
  return [`${status} ${code}`, ...Object.entries(rest).map(([name, value]) => `  ${name}: ${textOf(value)}`)].join(
    '\n',
  );
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

test('the problem documents of the HTTP API equal the recorded ones', async () => {
  const ports: Partial<AdminServices> = {
    runs: fake({
      get: async (id) => (id === RUN.id ? RUN : undefined),
      list: async () => [RUN],
      findIdsByPrefix: async () => [],
      listAndCount: async () => ({ runs: [], total: 0 }),
    }),
    decisions: {
      ...NO_DECISIONS,
      retry: () => Promise.reject(new Error('a defect')),
      cancel: (id) => Promise.reject(runNotFoundError(id)),
    },
    archivedFiles: {
      files: () => Promise.reject(new DocketError('archive.unreachable', 'The archive did not answer within 10 s.')),
      file: async () => undefined,
      outputs: async () => undefined,
      preview: async () => undefined,
    },
  };
  const app = createTestAdmin(TOKENS, ports);
  const parts: string[] = [];
  for (const [token, method, path, { headers, ...init } = {}] of REQUESTS) {
    const authorization: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` };
    const type: Record<string, string> = method === 'POST' ? { 'content-type': 'application/json' } : {};
    const response = await app.request(path, {
      ...init,
      method,
      headers: { host: 'localhost', ...authorization, ...type, ...(headers as Record<string, string>) },
    });
    const role = TOKENS.find(
      ({ sha256 }) => [operator, viewer, expired].find((one) => one.token === token)?.sha256 === sha256,
    );
    parts.push(`${method} ${path} (${role?.name ?? (token || 'no token')})\n${await problemText(response)}`);
  }
  const misdirected = await app.request('/', { headers: { host: 'docket.evil.example' } });
  parts.push(`GET / of another host\n${await problemText(misdirected)}`);

  const titles = Object.entries(REQUEST_PROBLEMS).map(([code, { status, title }]) => `${code} ${status} ${title}`);
  for (const code of Object.keys(ERRORS) as ErrorCode[]) {
    if (code in REQUEST_PROBLEMS) continue;
    const body = (await toProblemResponse(new DocketError(code, 'What is wrong.')).json()) as Record<string, unknown>;
    titles.push(`${code} ${body.status} ${body.title}`);
  }
  const text = `${parts.join('\n\n')}\n\nTitles by code\n${titles.sort().join('\n')}\n`;
  await expect(text).toMatchFileSnapshot('./snapshots/http-problems.txt');
});
