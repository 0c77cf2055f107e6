import type { Report } from './report.ts';

export interface HeldReport extends Report {
  /** When it was computed, in ms of the cache's own clock. */
  readonly at: number;
}

export interface ReportCache {
  /** What is held for the question and has not expired, with the whole seconds until it does. */
  get(question: string, now: number): { readonly held: HeldReport; readonly secondsLeft: number } | undefined;
  put(question: string, report: HeldReport): void;
}

/** Bounded by characters, about 64 MB: the oldest answers go first. */
const MOST_CHARACTERS = 32_000_000;

/** @param seconds how long an answer is held; 0 holds nothing (specification §4.5: up to an hour) */
export function reportCache(seconds: number): ReportCache {
  const reports = new Map<string, HeldReport>();
  let characters = 0;
  const drop = (question: string) => {
    characters -= reports.get(question)?.rest.length ?? 0;
    reports.delete(question);
  };
  return {
    get(question, now) {
      const held = reports.get(question);
      if (held === undefined) return undefined;
      const left = held.at + seconds * 1000 - now;
      if (left > 0) return { held, secondsLeft: Math.ceil(left / 1000) };
      drop(question);
      return undefined;
    },
    put(question, report) {
      drop(question);
      if (seconds === 0) return;
      reports.set(question, report);
      characters += report.rest.length;
      for (const oldest of reports.keys()) {
        if (characters <= MOST_CHARACTERS) return;
        drop(oldest);
      }
    },
  };
}
