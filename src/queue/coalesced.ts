/**
 * The work, one at a time: who asks while it is under way gets the end of the next one, together with everybody else who
 * asked meanwhile. What is under way may have begun before they had a reason to ask.
 */
export function coalesced<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  let following: Promise<Result> | undefined;
  const start = (): Promise<Result> => {
    running = work().finally(() => {
      running = undefined;
    });
    return running;
  };
  const next = (): Promise<Result> => {
    following = undefined;
    return start();
  };
  return () => {
    if (running === undefined) return start();
    following ??= running.then(next, next);
    return following;
  };
}
