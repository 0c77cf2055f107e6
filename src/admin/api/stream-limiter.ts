/** A stream that goes on until somebody ends it. */
export interface OpenStream {
  /** Aborted when it is to end: its client has gone, its time is up, or the process stops. */
  readonly signal: AbortSignal;
  /** It has ended, and another one may begin. Any number of times. */
  end(): void;
}

/** The streams of events that this process sends. */
export interface StreamLimiter {
  /** Undefined when there are too many already, of this principal or in all. */
  open(who: string): OpenStream | undefined;
  /** Ends all streams, so that they do not delay a stop of the process. */
  close(): void;
}

/**
 * Each stream holds a connection and asks Redis once a second: a page that opens one for each of its rows, or a client
 * that never closes any, must not use them up for everybody.
 *
 * @param each of one principal
 */
export function createStreamLimiter({ most = 200, each = 10 } = {}): StreamLimiter {
  const closing = new AbortController();
  const open = new Map<string, number>();
  let all = 0;
  return {
    open: (who) => {
      const own = open.get(who) ?? 0;
      if (own >= each || all >= most || closing.signal.aborted) return undefined;
      open.set(who, own + 1);
      all += 1;
      const ending = new AbortController();
      const stop = () => ending.abort();
      closing.signal.addEventListener('abort', stop, { once: true });
      ending.signal.addEventListener(
        'abort',
        () => {
          closing.signal.removeEventListener('abort', stop);
          const left = (open.get(who) ?? 1) - 1;
          if (left > 0) open.set(who, left);
          else open.delete(who);
          all -= 1;
        },
        { once: true },
      );
      return { signal: ending.signal, end: stop };
    },
    close: () => closing.abort(),
  };
}
