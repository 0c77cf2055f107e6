/** A stream of events that is open until the client, the limiter or its lifetime ends it. */
export interface OpenStream {
  /** Aborted when the stream must end: the client has gone, its lifetime is over, or the process stops. */
  readonly signal: AbortSignal;
  /** Frees the place of this stream. Further calls do nothing. */
  end(): void;
}

/** Limits the event streams that this process sends. */
export type StreamLimiter = ReturnType<typeof createStreamLimiter>;

/**
 * Each stream holds a connection and reads Redis once per second. A page that opens one per row, or a client that never
 * closes any, must not use up the streams of everybody.
 *
 * @param each maximum streams per principal
 */
export function createStreamLimiter({ most = 200, each = 10 } = {}) {
  const closing = new AbortController();
  const open = new Map<string, number>();
  let all = 0;
  return {
    /** Undefined if this principal, or all together, have too many open streams. */
    open: (who: string): OpenStream | undefined => {
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
    /** Ends all streams, so that they do not delay the shutdown. */
    close: (): void => closing.abort(),
  };
}
