/**
 * Answers that have come, so that a retried or resumed run spends tokens only on what it lacks.
 * Keyed by run and call; values are the checked JSON bodies.
 */
export interface ResponseStore {
  get(run: string, call: string): Promise<StoredAnswer | undefined>;
  /** False: there is no room for it, and a try that comes later has to ask again. */
  put(run: string, call: string, answer: StoredAnswer): Promise<boolean>;
  /** The run has its files, or has ended: its answers may go. */
  drop(run: string): Promise<void>;
}

export interface StoredAnswer {
  readonly body: unknown;
  readonly correlationId: string | null;
  /** Epoch ms at which it came. */
  readonly at: number;
  /** The run that asked for it, where that was another one (`max_age`). */
  readonly askedBy?: string | undefined;
}
