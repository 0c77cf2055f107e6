import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { DocketError } from '../../../src/base/error.ts';
import { done, fail, snooze } from '../../../src/base/outcome.ts';
import { createRedactor } from '../../../src/base/secrets/redactor.ts';
import { noTrace } from '../../../src/base/trace.ts';
import { composeDocket } from '../../../src/compose/docket.ts';
import { openTracing } from '../../../src/compose/tracing/tracing.ts';
import { staticDefinitions } from '../../../src/definitions/load/definition-source.ts';
import { type Execute, startWorker } from '../../../src/queue/jobs/worker.ts';
import { reportSchedules } from '../../../src/queue/schedules/report-schedules.ts';
import { redisScheduleCursors } from '../../../src/queue/schedules/schedule-cursors.ts';
import { triggerRun } from '../../../src/services/runs/trigger-run.ts';
import { httpProxy } from '../../support/http-proxy.ts';
import { loadedJobs } from '../../support/loaded-jobs.ts';
import { otlpCollector } from '../../support/otlp-collector.ts';
import { spansInProtobuf } from '../../support/otlp-protobuf.ts';
import { deferred, onDemand, openQueueHarness, recordingLog, reportDefinition } from '../../support/queue-harness.ts';

const around = (env: Readonly<Record<string, string>>, log = recordingLog()) => ({
  config: readConfig(env),
  env,
  clock: systemClock,
  log,
});

/** Traces this process until the end of the test. */
async function traced(env: Readonly<Record<string, string>>, log = recordingLog()) {
  const tracing = await openTracing(around(env, log));
  if (tracing === undefined) throw new Error('no traces');
  onTestFinished(() => tracing.close());
  const { trace, queueTelemetry } = tracing.context;
  if (trace === undefined) throw new Error('no trace');
  return { ...tracing, trace, queueTelemetry };
}

test('traces reach the collector through a proxy', async () => {
  const collector = await otlpCollector();
  onTestFinished(() => collector.close());
  const proxy = await httpProxy(() => Number(new URL(collector.url).port));
  onTestFinished(() => proxy.close());
  const { trace, close } = await traced({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel.docket.test:4318',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    HTTP_PROXY: proxy.url,
  });
  await trace.span({ name: 'docket.run' }, async () => {});
  await close();
  expect(collector.spans).toMatchObject([{ name: 'docket.run' }]);
  expect(proxy.tunnels).toMatchObject([{ authority: 'otel.docket.test:4318' }]);
});

test('a run that fails, is snoozed and is requeued stays in the trace of its request', async () => {
  const collector = await otlpCollector();
  onTestFinished(() => collector.close());
  const { trace, queueTelemetry, close } = await traced({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  });
  const harness = await openQueueHarness();
  onTestFinished(() => harness.close());
  let started = 0;
  const slept = deferred();
  const over = deferred();
  const execute: Execute = async () => {
    started += 1;
    if (started === 1) return fail(new DocketError('api.unavailable', 'Not now.'));
    if (started === 2) return snooze(Date.now() + 3_600_000, 'waiting for the API budget');
    return fail(new DocketError('api.refused', 'Never.'));
  };
  const worker = startWorker({
    connection: harness.worker,
    prefix: harness.prefix,
    store: harness.runs,
    execute: (order, context) => trace.span({ name: 'run', run: order.id }, () => execute(order, context)),
    telemetry: queueTelemetry,
    observe: (_order, { type }) => {
      if (type === 'snoozed') slept.tell();
      if (type === 'finished') over.tell();
    },
    backoff: () => 10,
    clock: systemClock,
    log: recordingLog(),
    concurrency: 1,
  });
  onTestFinished(() => worker.close(0));
  const { record } = await trace.span({ name: 'trigger' }, () =>
    triggerRun(onDemand(reportDefinition()), { ...harness, clock: systemClock, log: recordingLog(), trace }),
  );
  await slept.promise;
  // The job is lost, and the reconciler requeues it without an open span.
  await expect.poll(() => harness.queue.remove(record.id)).toBe(true);
  await harness.queue.requeue(record);
  await over.promise;
  await worker.close(0);
  await close();

  const root = collector.spans.find(({ name }) => name === 'trigger');
  const runs = collector.spans.filter(({ name }) => name === 'run');
  expect(runs).toHaveLength(3);
  expect(new Set(runs.map(({ traceId }) => traceId))).toEqual(new Set([root?.traceId]));
  expect(collector.bodies.join()).not.toContain('Never.');
});

test('a run opened by a due slot has its own trace, which starts with the trigger', async () => {
  const collector = await otlpCollector();
  onTestFinished(() => collector.close());
  const { context: deployment, close } = await traced({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  });
  const { trace, queueTelemetry } = deployment;
  const harness = await openQueueHarness();
  onTestFinished(() => harness.close());
  const report = reportDefinition('hourly', { cron: '0 * * * *', timezone: 'UTC', catch_up: 'latest' });
  const cursors = reportSchedules(report).map(({ cursor }) => cursor);
  await redisScheduleCursors(harness.producer, harness).initialize(cursors, Date.now() - 3_600_000);
  const over = deferred<string>();
  const worker = startWorker({
    connection: harness.worker,
    prefix: harness.prefix,
    store: harness.runs,
    execute: async ({ id }) =>
      (trace ?? noTrace).span({ name: 'run', run: id }, async () =>
        done({ state: 'done', folder: '', files: [], calls: [], incomplete: [], receipts: [] }),
      ),
    telemetry: queueTelemetry,
    observe: ({ id }, { type }) => {
      if (type === 'finished') over.tell(id);
    },
    clock: systemClock,
    log: recordingLog(),
    concurrency: 1,
  });
  onTestFinished(() => worker.close(0));
  const running = await composeDocket(
    { ...deployment, config: readConfig({ REDIS_URL: inject('redisUrl') }) },
    { jobs: staticDefinitions(loadedJobs(report)), prefix: harness.prefix, roles: new Set(['scheduler']) },
  );
  onTestFinished(() => running.close());
  const run = await over.promise;
  await worker.close(0);
  await running.close();
  await close();

  const spanOf = (name: string) =>
    collector.spans.find((span) => span.name === name && span.attributes['docket.run'] === run);
  const opened = spanOf('trigger');
  expect(opened?.attributes).toMatchObject({
    'docket.report': 'hourly',
    'docket.trigger': 'schedule',
    'docket.state': 'opened',
    'docket.slot': expect.stringMatching(/:00:00\.000Z$/),
  });
  // Triggered by the clock, so there is no parent span.
  expect(opened?.parentSpanId ?? '').toBe('');
  const taken = collector.spans.find(({ name, traceId }) => name === 'process runs' && traceId === opened?.traceId);
  expect(taken?.parentSpanId).toBe(opened?.spanId);
  expect(spanOf('run')).toMatchObject({ traceId: opened?.traceId, parentSpanId: taken?.spanId });
});

test('traces are only recorded if a variable enables them', async () => {
  expect(await openTracing(around({}))).toBeUndefined();
  expect(await openTracing(around({ OTEL_SERVICE_NAME: 'x' }))).toBeUndefined();
  const endpoint = 'http://127.0.0.1:9';
  expect(
    await openTracing(around({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: 'True' })),
  ).toBeUndefined();
  expect(
    await openTracing(around({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_EXPORTER: 'none' })),
  ).toBeUndefined();
});

test.each([
  [{ OTEL_TRACES_EXPORTER: 'zipkin' }, /OTEL_TRACES_EXPORTER: expected otlp or none, got "zipkin"/],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }, /OTEL_EXPORTER_OTLP_ENDPOINT: expected a URL/],
  [
    { OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    /OTEL_EXPORTER_OTLP_PROTOCOL: expected http\/protobuf or http\/json .* got "grpc"/,
  ],
])('%j is refused at the start', async (env, message) => {
  await expect(openTracing(around(env))).rejects.toMatchObject({
    code: 'config.invalid',
    message: expect.stringMatching(message),
  });
});

test('a collector that never answers loses spans and is logged once, but does not delay runs', async () => {
  const server = createServer(() => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const log = recordingLog();
  const { trace, close } = await traced(
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${address.port}`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '100',
    },
    log,
  );
  for (const name of ['one', 'two']) expect(await trace.span({ name }, async () => name)).toBe(name);
  await close();
  server.close();
  expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
    ['warn', 'Traces do not reach the collector; runs continue without them'],
  ]);
});

test('spans are sent as protobuf by default', async () => {
  const came: { readonly type: string | undefined; readonly path: string | undefined; readonly body: Buffer }[] = [];
  const server = createHttpServer(async (request, response) => {
    came.push({ type: request.headers['content-type'], path: request.url, body: await buffer(request) });
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const log = recordingLog();
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { trace, close } = await traced({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, log);
  const id = await trace.span({ name: 'run', run: 'r1' }, () =>
    trace.span({ name: 'plan' }, async () => trace.traceparent()?.split('-')[1]),
  );
  await close();
  expect(came.map(({ type, path }) => [type, path])).toEqual([['application/x-protobuf', '/v1/traces']]);
  expect(came.flatMap(({ body }) => spansInProtobuf(body))).toEqual([
    { traceId: id, name: 'plan' },
    { traceId: id, name: 'run' },
  ]);
  expect(log.lines).toEqual([]);
});

test('a collector that never answers does not delay closing, even with a long timeout', async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { trace, close } = await traced({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: '600000',
  });
  await trace.span({ name: 'one' }, async () => {});
  // The timeout of this test is a twentieth of the export timeout.
  await close();
  expect(sockets).toHaveLength(1);
});

test('a secret in a path is redacted, and so is the password of the collector', async () => {
  const collector = await otlpCollector();
  onTestFinished(() => collector.close());
  const { registerSecret, redact } = createRedactor();
  registerSecret('s3cret-of-a-path');
  const endpoint = collector.url.replace('http://', 'http://docket:c0llector-pw@');
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
  const tracing = await openTracing({ ...around(env), registerSecret, redact });
  await tracing?.context.trace?.span({ name: 'POST', path: '/api/s3cret-of-a-path' }, async () => {});
  await tracing?.close();
  expect(collector.spans.map(({ attributes }) => attributes)).toEqual([{ 'url.path': '/api/[secret]' }]);
  expect(redact('c0llector-pw')).toBe('[secret]');
});

test('disallowed attributes are not sent from any source, and of an error only its code is sent', async () => {
  const collector = await otlpCollector();
  onTestFinished(() => collector.close());
  const { trace, close } = await traced({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  });
  const slipped: object = { api_key: 'k3y', recipient: 'lead@acme.example' };
  await expect(
    trace.span({ name: 'call', kind: 'client', ...slipped }, async (tell) => {
      tell({ status: 403, ...slipped });
      const { trace: global } = await import('@opentelemetry/api');
      global.getActiveSpan()?.setAttribute('http.url', 'https://u:k3y@h').recordException(new Error('k3y'));
      throw new DocketError('api.forbidden', 'The key k3y may not.', { correlationId: 'c-1' });
    }),
  ).rejects.toMatchObject({ code: 'api.forbidden' });
  await close();
  expect(collector.spans).toHaveLength(1);
  expect(collector.spans[0]).toMatchObject({
    name: 'call',
    kind: 3,
    attributes: { 'http.response.status_code': 403, 'error.type': 'api.forbidden', 'docket.correlation_id': 'c-1' },
    events: [],
    status: { code: 2 },
  });
  expect(Object.keys(collector.spans[0]?.attributes ?? {})).toHaveLength(3);
  expect(collector.bodies.join()).not.toMatch(/k3y|lead@/);
});
