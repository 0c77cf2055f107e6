import type { Clock } from '../base/clock.ts';
import type { Observe } from './event.ts';
import type { Stage } from './record.ts';

/** Does a stage's work; says when it begins, and how long it took, however it ended. */
export async function timed<Value>(
  stage: Stage,
  { observe, clock }: { readonly observe: Observe; readonly clock: Clock },
  work: () => Promise<Value>,
): Promise<Value> {
  const begun = clock.now();
  observe({ type: 'begun', stage });
  try {
    return await work();
  } finally {
    observe({ type: 'timed', stage, ms: Math.max(0, clock.now() - begun) });
  }
}
