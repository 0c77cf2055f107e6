const FIRST_MS = 30_000;
const MOST_MS = 15 * 60_000;

/**
 * Ms before the next try: doubles from 30 s up to 15 minutes, the second half of it by chance, so that a hundred runs
 * which failed together do not come back together.
 *
 * @param failed tries that have failed, from 1
 * @param chance from 0 to 1, e.g. `Math.random()`
 */
export function backoffMs(failed: number, chance: number): number {
  const whole = Math.min(FIRST_MS * 2 ** (failed - 1), MOST_MS);
  return Math.round(whole / 2 + (whole / 2) * chance);
}

/** Thrown to BullMQ for a try that failed and will be made again after `delayMs`; carries the error's code alone. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly delayMs: number;

  constructor(code: string, delayMs: number) {
    super(code);
    this.delayMs = delayMs;
  }
}
