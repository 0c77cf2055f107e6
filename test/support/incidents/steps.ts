/** A step of an operator. `field`: filled in; `outside`: done to something outside of Docket, such as a mail server. */
export interface Step {
  readonly kind: 'click' | 'field' | 'command' | 'outside';
  readonly text: string;
}

/** The steps of one operator, in order. */
export interface StepLog {
  readonly steps: readonly Step[];
  add(kind: Step['kind'], text: string): void;
}

export function stepLog(): StepLog {
  const steps: Step[] = [];
  return { steps, add: (kind, text) => void steps.push({ kind, text }) };
}

export const countOf = (steps: readonly Step[], ...kinds: Step['kind'][]): number =>
  steps.filter(({ kind }) => kinds.includes(kind)).length;

/** A repair that is done once all operators have read that it is needed. */
export function sharedRepair(operators: number, repair: () => unknown): () => Promise<void> {
  let requestCount = 0;
  let done = () => {};
  let failed: (reason: unknown) => void = () => {};
  const repaired = new Promise<void>((resolve, reject) => {
    done = resolve;
    failed = reject;
  });
  // The operators await it. A failure may come before all of them do.
  repaired.catch(() => {});
  return async () => {
    requestCount += 1;
    if (requestCount === operators) Promise.resolve().then(repair).then(done, failed);
    await repaired;
  };
}
