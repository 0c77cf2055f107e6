import { DocketError } from './error.ts';

/**
 * How a run ends, as a closed union. Only `queue/` turns it into a BullMQ verb, and only `cli/` into an exit code. A
 * snooze uses no attempt and no worker slot.
 */
export type Outcome<Done> =
  | { readonly kind: 'done'; readonly value: Done }
  | { readonly kind: 'snooze'; readonly until: number; readonly why: string }
  | { readonly kind: 'cancel'; readonly why: string }
  | { readonly kind: 'fail'; readonly error: DocketError };

export const done = <Done>(value: Done): Outcome<Done> => ({ kind: 'done', value });
/** @param until epoch ms */
export const snooze = (until: number, why: string): Outcome<never> => ({ kind: 'snooze', until, why });
export const cancel = (why: string): Outcome<never> => ({ kind: 'cancel', why });
export const fail = (error: DocketError): Outcome<never> => ({ kind: 'fail', error });

/** Turns a thrown `DocketError` into the outcome `fail`. Rethrows aborts and defects. */
export async function asOutcome<Value>(
  signal: AbortSignal,
  work: () => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted || !(error instanceof DocketError)) throw error;
    return fail(error);
  }
}
