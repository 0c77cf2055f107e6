/** A target's server that has been failing: nothing is tried there for a while. */
export interface Outage {
  /** Epoch ms. */
  readonly until: number;
  /** What it said last. */
  readonly why: string;
}

/**
 * What all workers together know of the servers behind targets: one that is down must not make every run wait for its
 * timeout. It opens after a few failures within a while, lets one try through from time to time, and closes when one
 * succeeds. A service is named without secrets, e.g. `mail smtp.example.com:587`.
 */
export interface Circuit {
  /** Undefined: go ahead. Whoever is let through after an outage was over is its probe, and the others wait for it. */
  ask(service: string): Promise<Outage | undefined>;
  /** It did what was asked, or said something definite. */
  answered(service: string): Promise<void>;
  /** It could not be used. @param until epoch ms before which it asked to be left alone: that holds at once, for everybody */
  failed(service: string, why: string, until?: number): Promise<void>;
}

/** Said once by all workers together. */
export type CircuitNews =
  | { readonly kind: 'opened'; readonly service: string; readonly until: number; readonly why: string }
  | { readonly kind: 'closed'; readonly service: string; readonly afterMs: number };
