/** Attributes of spans. An allow-list, as in the log: no secrets and no recipients' addresses. */
export interface SpanAttributes {
  run?: string;
  org?: string;
  report?: string;
  slot?: string;
  /** `schedule`, `on_demand`, … */
  trigger?: string;
  attempt?: number;
  /** How it ended: a run's state or `snoozed`, or a delivery's state. */
  state?: string;
  target?: string;
  delivery?: string;
  count?: number;
  /** For a request: its method, path without query, and server name, and the response's status. */
  method?: string;
  path?: string;
  server?: string;
  status?: number;
  correlation_id?: string;
  /** Error code. The span then counts as failed. */
  error?: string;
}

/** `producer`: enqueues work. `client`: sends a request. `server`: handles a request. */
export type SpanKind = 'internal' | 'producer' | 'client' | 'server';

export interface SpanOptions extends SpanAttributes {
  readonly name: string;
  readonly kind?: SpanKind;
  /** W3C `traceparent` of a parent in another process. Default: the current span. */
  readonly parent?: string | undefined;
}

export type SetSpanAttributes = (more: SpanAttributes) => void;

/** Creates spans. */
export interface Trace {
  /** Runs the work in a new span, which is the parent of all spans that the work opens. Rethrows errors. */
  span<Value>(spec: SpanOptions, work: (setAttributes: SetSpanAttributes) => Promise<Value>): Promise<Value>;
  /** W3C `traceparent` of the current span, for another process; undefined without a span. */
  traceparent(): string | undefined;
}

const ignoreAttributes: SetSpanAttributes = () => {};

/** Creates no spans. */
export const noTrace: Trace = { span: (_spec, work) => work(ignoreAttributes), traceparent: () => undefined };
