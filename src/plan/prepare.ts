import { endOfDay } from './buckets.ts';
import type { Call, Plan, ReportCall } from './plan.ts';

/** Why a call must wait for the slot: it is a list, it is about current counts, or its days are not complete before. */
export type Unprepared = 'list' | 'current' | 'incomplete';

/** The calls of a slot that can be made before it. */
export interface PreparedCalls {
  readonly calls: readonly {
    readonly call: ReportCall;
    /** Epoch ms from which its days are complete. */
    readonly completeSince: number;
    /** Epoch ms from which it is made. */
    readonly from: number;
  }[];
  readonly others: readonly { readonly call: Call; readonly why: Unprepared }[];
}

export interface PrepareTimes {
  /** Epoch ms from which calls of the slot may be made. */
  readonly from: number;
  /** Epoch ms at which its run begins. */
  readonly begins: number;
  /** Ms from the end of a day until its figures are complete. */
  readonly dataReadyMs: number;
}

/**
 * Divides the calls of a plan into those that can be made before its run begins, and the others. A call gets complete
 * days once its last day has ended and `dataReadyMs` have passed. Days that it is compared with are earlier.
 */
export function preparedCalls(
  { calls }: Pick<Plan, 'calls'>,
  { from, begins, dataReadyMs }: PrepareTimes,
): PreparedCalls {
  const prepared: PreparedCalls['calls'][number][] = [];
  const others: PreparedCalls['others'][number][] = [];
  for (const call of calls) {
    if (call.kind === 'list') {
      others.push({ call, why: 'list' });
      continue;
    }
    const { to, timezone } = call.request.time ?? {};
    if (to === undefined) {
      others.push({ call, why: 'current' });
      continue;
    }
    const completeSince = endOfDay(to, timezone) + dataReadyMs;
    if (completeSince >= begins) others.push({ call, why: 'incomplete' });
    else prepared.push({ call, completeSince, from: Math.max(from, completeSince) });
  }
  return { calls: prepared, others };
}
