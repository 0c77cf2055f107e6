/** What a span may say. An allow-list, as in the log: never a secret, nor the address of anybody who gets a report. */
export interface TraceFields {
  run?: string;
  org?: string;
  report?: string;
  slot?: string;
  /** What asked for the run: `schedule`, `on_demand`, … */
  trigger?: string;
  attempt?: number;
  /** How it ended: of a run its state or that it sleeps, of a delivery its state. */
  state?: string;
  target?: string;
  delivery?: string;
  count?: number;
  /** Of a request: its method, its path without the query, the server's name, the answer's status. */
  method?: string;
  path?: string;
  server?: string;
  status?: number;
  correlation_id?: string;
  /** Code of the error with which it ended; the span then counts as failed. */
  error?: string;
}

/** `producer`: puts work in line. `client`: asks another server. `server`: answers a request. */
export type SpanKind = 'internal' | 'producer' | 'client' | 'server';

export interface SpanSpec extends TraceFields {
  readonly name: string;
  readonly kind?: SpanKind;
  /** W3C `traceparent` of a span of another process in which this one stands; the one that is open here when absent. */
  readonly parent?: string | undefined;
}

/** Says more of the span while it is open. */
export type TellSpan = (more: TraceFields) => void;

/** Where spans go. A parameter, like the clock: without one nothing is measured, and nothing is loaded. */
export interface Trace {
  /** Does the work in a span of its own, in which all spans stand that the work opens. What is thrown passes. */
  span<Value>(spec: SpanSpec, work: (tell: TellSpan) => Promise<Value>): Promise<Value>;
  /** W3C `traceparent` of the span that is open here, to be carried to another process; undefined where none is. */
  parent(): string | undefined;
}

const untold: TellSpan = () => {};

/** No spans. */
export const noTrace: Trace = { span: (_spec, work) => work(untold), parent: () => undefined };
