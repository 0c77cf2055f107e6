import { afterAll, afterEach, beforeAll } from 'vitest';
import type { ReportRequest } from '../../src/contract/report.ts';
import type { Period } from '../../src/definitions/periods/period.ts';
import type { OrgSettings } from '../../src/definitions/schema/org-settings.ts';
import type { Dataset, Table } from '../../src/fetch/dataset.ts';
import { fetchDataset } from '../../src/fetch/fetch-dataset.ts';
import { memoryBudget } from '../../src/fetch/rate-limit/memory-budget.ts';
import { compilePlan } from '../../src/plan/compile.ts';
import type { CallLimits } from '../../src/plan/requests/call.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { doneOf, fetchingFrom, keyOf, NOW, openSandbox } from './fetch-harness.ts';
import { type HostileServer, hostileServer } from './hostile-server.ts';
import { manualClock } from './manual-clock.ts';
import { type DefinitionInput, definitionOf, type SectionInput, settingsOf } from './reports.ts';

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
    const requested = await fetch(`${base}${request.url}`, {
      method: request.method ?? 'GET',
      headers: {
        authorization: request.headers.authorization ?? '',
        ...(text === '' ? {} : { 'content-type': 'application/json' }),
      },
      ...(text === '' ? {} : { body: text }),
    });
    // The original response, which the sandbox's tests check against the contract.
    const body = JSON.parse(await requested.text());
    const path = request.url ?? '';
    if (requested.status === 200) {
      if (path.includes('/analytics/report/')) lies.report?.(body, JSON.parse(text));
      else if (path.includes('/analytics/metrics/')) lies.catalog?.(body);
      else if (path.includes('/profiles/')) lies.list?.(body, new URL(path, base));
    }
    response.writeHead(requested.status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
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

interface FetchedReport extends Omit<DefinitionInput, 'period'> {
  readonly limits?: Partial<CallLimits>;
  readonly settings?: OrgSettings;
  readonly key?: Parameters<typeof keyOf>[1];
}

/** The sandbox behind a proxy that changes its responses, for all tests of a file. */
export function falsifiedSandbox() {
  let sandbox: Sandbox;
  let service: TamperingService;
  beforeAll(async () => {
    sandbox = await openSandbox();
    service = await tamperingService(sandbox.url);
  });
  afterEach(() => service.tell({}));
  afterAll(async () => {
    await service.close();
    await sandbox.close();
  });
  return {
    tell: (lies: Tampering): void => service.tell(lies),
    /** What a report with these sections gets, and its plan. */
    fetch: async (
      sections: readonly SectionInput[],
      period: Period,
      { limits = {}, settings = settingsOf(), key = 'acme', ...input }: FetchedReport = {},
    ) => {
      const clock = manualClock(NOW);
      const budget = memoryBudget({ calls: 1000, windowMs: 1, clock });
      const context = fetchingFrom(service.url, keyOf(sandbox, key), { clock, budget });
      const catalog = await context.client.catalog(settings.org, context.signal);
      const plan = compilePlan({ definition: definitionOf([...sections], input), settings, period, catalog, limits });
      return { plan, ...doneOf(await fetchDataset({ ...context, plan, catalog, organization: 'x' })) };
    },
  };
}

/** A table of a dataset. */
export function tableIn({ tables }: Pick<Dataset, 'tables'>, id = 'a'): Table {
  const table = tables.find((one) => one.id === id);
  if (table === undefined) throw new Error(`no table ${id}`);
  return table;
}
