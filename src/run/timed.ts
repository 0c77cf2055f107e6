import type { Clock } from '../base/clock.ts';
import { noTrace, type Trace } from '../base/trace.ts';
import type { Observe } from './event.ts';
import type { Stage } from './record.ts';

/** Where a stage says what it does; absent `trace`: no spans. */
export interface Watched {
  readonly observe: Observe;
  readonly clock: Clock;
  readonly trace?: Trace | undefined;
}

/** Does a stage's work; says when it begins, and how long it took, however it ended. */
export async function timed<Value>(
  stage: Stage,
  { observe, clock, trace = noTrace }: Watched,
  work: () => Promise<Value>,
): Promise<Value> {
  const begun = clock.now();
  observe({ type: 'begun', stage });
  try {
    return await trace.span({ name: stage }, work);
  } finally {
    observe({ type: 'timed', stage, ms: Math.max(0, clock.now() - begun) });
  }
}
