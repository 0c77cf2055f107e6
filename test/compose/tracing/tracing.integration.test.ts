import { expect, inject, onTestFinished, test } from 'vitest';
import { otlpCollector } from '../../support/otlp-collector.ts';
import { roleProcesses } from '../../support/role-processes.ts';

test('a run has one trace from its request to its deliveries, across processes', async () => {
  const collector = await otlpCollector();
  onTestFinished(() => collector.close());
  const deployment = await roleProcesses(`${inject('redisUrl')}/6`);
  const otel = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '50',
  };
  const admin = await deployment.startWith({ ...otel, OTEL_SERVICE_NAME: 'docket-admin' }, 'admin');
  const worker = await deployment.startWith(otel, 'worker');
  const caller = { id: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' };
  const run = await deployment.trigger(admin, 'traced', { traceparent: `00-${caller.id}-${caller.span}-01` });
  const ended = await worker.logged((line) => line.msg === 'Run ended' && line.run === run);
  // The log line has the ID of the trace, which is that of the caller.
  expect(ended.trace_id).toBe(caller.id);
  // Remaining spans are sent on closing.
  await worker.stop();
  await admin.stop();

  const own = collector.spans.filter(({ traceId }) => traceId === caller.id);
  const spanOf = (name: string) => {
    const found = own.filter((span) => span.name === name);
    expect(found, `${name} among ${own.map((span) => span.name)}`).toHaveLength(1);
    return found[0];
  };
  const parents = Object.fromEntries(
    own.map(({ name, parentSpanId }) => [
      name,
      own.find(({ spanId }) => spanId === parentSpanId)?.name ?? parentSpanId,
    ]),
  );
  expect(parents).toEqual({
    POST: caller.span,
    trigger: 'POST',
    'process runs': 'trigger',
    run: 'process runs',
    plan: 'run',
    'GET catalog': 'plan',
    fetch: 'run',
    'POST report': 'fetch',
    render: 'run',
    seal: 'run',
    deliver: 'run',
    delivery: 'deliver',
    'complete runs': 'process runs',
  });
  expect(spanOf('run')?.attributes).toMatchObject({
    'docket.run': run,
    'docket.org': 'acme',
    'docket.report': 'weekly',
    'docket.state': 'done',
    'docket.attempt': 1,
  });
  expect(spanOf('POST report')?.attributes).toMatchObject({
    'http.request.method': 'POST',
    'http.response.status_code': 200,
    'docket.correlation_id': expect.stringMatching(/\S/),
  });
  expect(spanOf('delivery')?.attributes).toMatchObject({ 'docket.target': '0-email', 'docket.state': 'sent' });
  expect(spanOf('POST')?.attributes).toMatchObject({ 'http.response.status_code': 202 });
  expect(spanOf('trigger')?.resource['service.name']).toBe('docket-admin');
  expect(spanOf('run')?.resource).toMatchObject({ 'service.name': 'docket', 'service.version': expect.any(String) });

  // No housekeeping of BullMQ, no events, no addresses, no keys.
  expect(collector.spans.filter(({ name }) => /getNextJob|extendLocks|pause/.test(name))).toEqual([]);
  expect(collector.spans.flatMap(({ events }) => events)).toEqual([]);
  const all = collector.bodies.join('\n');
  expect(all).not.toContain('lead@');
  expect(all).not.toContain('sbx_');
});
