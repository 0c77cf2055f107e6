/**
 * Whether a waiting task becomes the caller's: the thread's to begin, or the renderer's to cancel. True for the first of the two.
 *
 * @param claim of the task, one number of a `SharedArrayBuffer`, at first 0
 */
export const claimTask = (claim: Int32Array): boolean => Atomics.exchange(claim, 0, 1) === 0;
