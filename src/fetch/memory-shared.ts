import type { Clock } from '../base/clock.ts';
import type { Found, SharedAnswer, SharedAnswers, Wish } from './shared-answers.ts';

interface Entry {
  readonly answer: SharedAnswer;
  readonly computed: number;
  readonly asked: number;
  readonly until: number;
}

/** Shared answers of one process: the rules of `shared-1.lua`, told by `clock`. */
export function memoryShared(clock: Clock): SharedAnswers {
  const entries = new Map<string, Entry>();
  const flights = new Map<string, { readonly holder: string; readonly until: number }>();
  const look = (question: string, { maxAgeMs, wantedMs, holder }: Wish): Found => {
    const now = clock.now();
    const entry = entries.get(question);
    if (entry !== undefined && now <= entry.until && entry.asked <= now) {
      const { answer, computed, asked } = entry;
      if (now - computed <= maxAgeMs || now - asked <= wantedMs) return { kind: 'answered', answer };
    }
    const flight = flights.get(question);
    if (flight === undefined || flight.holder === holder || flight.until <= now) return { kind: 'nobody' };
    return { kind: 'asking', forMs: flight.until - now };
  };
  const release = (question: string, holder: string): void => {
    if (flights.get(question)?.holder === holder) flights.delete(question);
  };
  return {
    look: async (question, wish) => look(question, wish),
    claim: async (question, wish, forMs) => {
      const found = look(question, wish);
      if (found.kind !== 'nobody') return found;
      const { holder } = wish;
      const asked = clock.now();
      flights.set(question, { holder, until: asked + forMs });
      return { kind: 'claimed', claim: { holder, asked } };
    },
    land: async (question, { holder, asked }, answer, behindMs, keepMs) => {
      const now = clock.now();
      for (const [name, { until }] of entries) if (until < now) entries.delete(name);
      const before = entries.get(question);
      // How long an answer may be used is what its own asker allowed.
      const own = { answer, computed: asked - behindMs, until: now + keepMs };
      const best = before !== undefined && before.computed > own.computed ? before : own;
      entries.set(question, { ...best, asked: Math.max(asked, before?.asked ?? asked) });
      release(question, holder);
    },
    release: async (question, { holder }) => release(question, holder),
  };
}
