import type { VirtualClock } from './virtual-clock.ts';

interface Answer {
  /** The run whose request is in flight. */
  holder: string | undefined;
  /** When the newest answered request was made. */
  requestedAt: number;
}

export type SharedLookup = 'hit' | 'in_flight' | 'miss';

/** Which responses runs share, without their content. */
export interface SharedAnswers {
  lookup(request: string, holder: string, maxAgeMs: number): SharedLookup;
  /** Call it after a miss: other runs then wait for this request. */
  claim(request: string, holder: string): void;
  release(request: string, holder: string): void;
  /** Records that the request made at `requestedAt` was answered. */
  put(request: string, holder: string, requestedAt: number): void;
}

export function sharedAnswers(clock: Pick<VirtualClock, 'now'>): SharedAnswers {
  const answers = new Map<string, Answer>();
  const find = (request: string): Answer => {
    const found = answers.get(request) ?? { holder: undefined, requestedAt: Number.NEGATIVE_INFINITY };
    answers.set(request, found);
    return found;
  };
  const release = (request: string, holder: string): void => {
    const answer = find(request);
    if (answer.holder === holder) answer.holder = undefined;
  };
  return {
    lookup: (request, holder, maxAgeMs) => {
      const answer = find(request);
      if (clock.now() - answer.requestedAt <= maxAgeMs) return 'hit';
      return answer.holder === undefined || answer.holder === holder ? 'miss' : 'in_flight';
    },
    claim: (request, holder) => {
      find(request).holder = holder;
    },
    release,
    put: (request, holder, requestedAt) => {
      const answer = find(request);
      answer.requestedAt = Math.max(answer.requestedAt, requestedAt);
      release(request, holder);
    },
  };
}
