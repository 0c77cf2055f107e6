import { DocketError } from '../base/error.ts';
import { fail, type Outcome } from '../base/outcome.ts';

/** What was thrown and is ours to tell becomes the outcome `fail`; an abort and a defect stay thrown. */
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
