import type { Report } from './report.ts';

/** A report as it was computed, kept as bytes so that answering from the cache costs next to nothing. */
export interface HeldReport extends Pick<Report, 'meta'> {
  /** When it was computed, in ms of the cache's own clock. */
  readonly at: number;
  /** `Report.rest` */
  readonly rest: Buffer;
}

export interface ReportCache {
  /** What is held for the question and has not expired, with the whole seconds until it does. */
  get(question: string, now: number): { readonly held: HeldReport; readonly secondsLeft: number } | undefined;
  put(question: string, report: HeldReport): void;
}

/** When more is held, the oldest answers go first. */
const MOST_BYTES = 64_000_000;

/** @param seconds how long an answer is held; 0 holds nothing (specification §4.5: up to an hour) */
export function reportCache(seconds: number): ReportCache {
  const reports = new Map<string, HeldReport>();
  let bytes = 0;
  const drop = (question: string) => {
    bytes -= reports.get(question)?.rest.length ?? 0;
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
      bytes += report.rest.length;
      for (const oldest of reports.keys()) {
        if (bytes <= MOST_BYTES) return;
        drop(oldest);
      }
    },
  };
}
