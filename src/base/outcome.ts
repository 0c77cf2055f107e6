import { DocketError } from './error.ts';

/**
 * How a run ends, as a closed union. `queue/` alone turns it into a BullMQ verb, `cli/` alone into an exit code.
 * A snooze consumes no attempt and holds no worker slot.
 */
export type Outcome<Done> =
  | { readonly kind: 'done'; readonly value: Done }
  | { readonly kind: 'snooze'; readonly until: number; readonly why: string }
  | { readonly kind: 'cancel'; readonly why: string }
  | { readonly kind: 'fail'; readonly error: DocketError };

export const done = <Done>(value: Done): Outcome<Done> => ({ kind: 'done', value });
/** @param until epoch milliseconds */
export const snooze = (until: number, why: string): Outcome<never> => ({ kind: 'snooze', until, why });
export const cancel = (why: string): Outcome<never> => ({ kind: 'cancel', why });
export const fail = (error: DocketError): Outcome<never> => ({ kind: 'fail', error });

/** A thrown `DocketError` becomes the outcome `fail`; aborts and defects are thrown. */
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
