import { createHash } from 'node:crypto';
import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import type { Clock } from '../../../base/clock.ts';
import { type LiveProgress, PROGRESS_STAGES, type RunSnapshot } from '../../../run/live-progress.ts';
import { TERMINAL_STATES } from '../../../run/run-record.ts';
import type { AdminApp } from '../../hono-env.ts';
import { problem } from '../../problem.ts';
import { idParams, lookupProblems, PROBLEM_RESPONSES, security } from '../openapi-helpers.ts';
import { runView } from '../schemas.ts';
import type { StreamLimiter } from '../stream-limiter.ts';

/** After this many ms of silence a comment is sent, so that proxies do not end the stream. */
const KEEP_ALIVE_INTERVAL_MS = 15_000;
/** A stream ends after this many ms. The client reconnects with the id of the last event it received. */
const STREAM_LIFETIME_MS = 3_600_000;
/** How long clients wait before they reconnect, ms. */
const RECONNECT_DELAY_MS = 3_000;

/** The data of an event `progress`. Null while no worker executes the run. */
export const progressSchema = z
  .object({
    stage: z.enum(PROGRESS_STAGES),
    calls: z.object({ done: z.int(), of: z.int().describe('0 before there is a plan.') }),
    tokens: z.int().nullable().describe('Tokens left on the key after the last call.'),
    ahead: z.int().nullable().describe('Calls ahead of it while it waits for a token.'),
    expected_finish: z.iso.datetime().nullable().describe('When the response to the last call is expected.'),
    at: z.iso.datetime(),
  })
  .meta({ id: 'Progress' });

export const progressView = ({
  stage,
  done,
  of,
  tokens,
  ahead,
  finish,
  at,
}: LiveProgress): z.infer<typeof progressSchema> => ({
  stage,
  calls: { done, of },
  tokens,
  ahead,
  expected_finish: finish === null ? null : new Date(finish).toISOString(),
  at: new Date(at).toISOString(),
});

const route = createRoute({
  method: 'get',
  path: '/api/runs/{id}/events',
  operationId: 'watchRun',
  tags: ['Runs'],
  summary: 'Stream the progress of a run',
  description: [
    'Server-sent events. `run`: the run (`Run`), at once and whenever it changes. `progress`: the progress of its worker (`Progress`, or null), at once and then at most once a second. `end`: `{ "state": … }`, when the run has ended; then the stream closes.',
    'After 15 s without an event, the stream sends a comment. With `Last-Event-ID` it continues with what is new; after the end the response is 204, which stops an `EventSource`. A token can have ten streams.',
  ].join('\n\n'),
  security,
  request: {
    params: idParams,
    headers: z.object({
      'Last-Event-ID': z.string().max(200).optional().meta({ description: 'The id of the last event received.' }),
    }),
  },
  responses: {
    200: {
      description: 'The stream.',
      content: {
        'text/event-stream': {
          schema: z
            .string()
            .meta({ example: 'event: run\nid: 5d41402abc4b.\ndata: {"id":"2f6c…","state":"running"}\n\n' }),
        },
      },
    },
    204: { description: 'The run has ended, and `Last-Event-ID` is its last event.' },
    400: PROBLEM_RESPONSES[400],
    ...lookupProblems,
  },
});

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  // Proxies that support it, such as nginx, would otherwise buffer events.
  'X-Accel-Buffering': 'no',
  // An ended stream must not leave a connection open that a shutdown would wait for.
  Connection: 'close',
} as const;

/** `GET /api/runs/{id}/events`. */
export function addRunEventRoutes(
  app: AdminApp,
  { streams, clock }: { readonly streams: StreamLimiter; readonly clock: Clock },
): void {
  app.openapi(route, async (context) => {
    const { id } = context.req.valid('param');
    const known = context.req.valid('header')['Last-Event-ID'];
    const access = context.get('access');
    // For HEAD, Hono runs the GET handler, and nobody would read the stream.
    if (context.req.method === 'HEAD') {
      await access.run(id);
      return context.body(null, 200, HEADERS);
    }
    const stream = streams.open(context.get('principal').subject);
    if (stream === undefined) {
      return problem(
        'request.too_many_streams',
        { expected: 'at most ten streams of a token at the same time', next: 'Close one of them.' },
        { 'Retry-After': '15' },
      );
    }
    const { signal } = stream;
    const news = access.watch(id, signal)[Symbol.asyncIterator]();
    try {
      const first = await news.next();
      if (first.done || isEnd(first.value, known)) {
        stream.end();
        return context.body(null, 204);
      }
      const stillAccepted = context.get('stillAccepted');
      const texts = eventTexts(first.value, news, { known, clock, signal, stillAccepted });
      void clock.sleep(STREAM_LIFETIME_MS, signal).then(stream.end, () => {});
      return context.body(streamBody(texts, stream), 200, HEADERS);
    } catch (thrown) {
      stream.end();
      throw thrown;
    }
  });
}

/** Versions of the run and of its progress that the client already has. */
interface EventVersions {
  readonly run: string;
  readonly live: string;
}

const contentHash = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);
const eventVersions = ({ record, live }: RunSnapshot): EventVersions => ({
  run: contentHash(record),
  live: contentHash(live),
});
const parseEventId = (text: string | undefined): Partial<EventVersions> => {
  const [, run, live] = /^([0-9a-f]{12})\.([0-9a-f]{12})?$/.exec(text ?? '') ?? [];
  return { ...(run === undefined ? {} : { run }), ...(live === undefined ? {} : { live }) };
};

const isEnd = (news: RunSnapshot, known: string | undefined): boolean =>
  TERMINAL_STATES.has(news.record.state) && parseEventId(known).run === eventVersions(news).run;

async function* eventTexts(
  first: RunSnapshot,
  rest: AsyncIterator<RunSnapshot>,
  {
    known,
    clock,
    signal,
    stillAccepted,
  }: {
    readonly known: string | undefined;
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly stillAccepted: () => Promise<boolean>;
  },
): AsyncGenerator<string, void, void> {
  yield `retry: ${RECONNECT_DELAY_MS}\n\n`;
  let has = parseEventId(known);
  let looked = clock.now();
  let next: ReturnType<typeof rest.next> = Promise.resolve({ value: first });
  while (!signal.aborted) {
    const came = await orKeepAlive(next, clock, signal);
    // A stream ends when its token is revoked or expires.
    if (clock.now() - looked >= KEEP_ALIVE_INTERVAL_MS) {
      if (!(await stillAccepted())) return;
      looked = clock.now();
    }
    if (came === undefined) {
      yield ': nothing new\n\n';
      continue;
    }
    if (came.done) return;
    const { record, live } = came.value;
    const marks = eventVersions(came.value);
    if (has.run !== marks.run) yield event('run', `${marks.run}.${has.live ?? ''}`, runView(record));
    if (has.live !== marks.live) {
      yield event('progress', `${marks.run}.${marks.live}`, live === null ? null : progressView(live));
    }
    has = marks;
    if (TERMINAL_STATES.has(record.state))
      return yield event('end', `${marks.run}.${marks.live}`, { state: record.state });
    next = rest.next();
  }
}

const event = (name: string, id: string, data: unknown): string =>
  `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;

/** The next value if it comes before the next keep-alive is due; otherwise undefined. */
async function orKeepAlive<Value>(
  coming: Promise<Value>,
  clock: Clock,
  signal: AbortSignal,
): Promise<Value | undefined> {
  const over = new AbortController();
  const quiet = clock.sleep(KEEP_ALIVE_INTERVAL_MS, AbortSignal.any([signal, over.signal])).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([coming, quiet]);
  } finally {
    over.abort(null);
  }
}

/** A body that is produced only as fast as the client reads: a client that does not read causes no Redis calls. */
function streamBody(
  texts: AsyncGenerator<string, void, void>,
  { signal, end }: { readonly signal: AbortSignal; end(): void },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      signal.addEventListener(
        'abort',
        () => {
          try {
            controller.close();
          } catch {
            // Already closed, by its end or by its reader.
          }
        },
        { once: true },
      );
    },
    pull: async (controller) => {
      // An error midway ends the stream. The client reconnects and then gets the error.
      const { done, value } = await texts.next().catch(() => ({ done: true, value: undefined }) as const);
      if (!done && !signal.aborted) controller.enqueue(encoder.encode(value));
      else end();
    },
    cancel: end,
  });
}
