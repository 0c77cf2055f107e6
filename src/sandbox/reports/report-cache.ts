import type { Report } from './report.ts';

/** A computed report as bytes, which makes cache hits cheap. */
export interface CachedReport extends Pick<Report, 'meta'> {
  /** When it was computed, ms on the cache's clock. */
  readonly at: number;
  /** `Report.rest` */
  readonly rest: Buffer;
}

export type ReportCache = ReturnType<typeof reportCache>;

/** Above this size the oldest reports are evicted. */
const MAX_BYTES = 64_000_000;

/** @param seconds how long a report is kept; 0 disables the cache (specification §4.5: up to an hour) */
export function reportCache(seconds: number) {
  const reports = new Map<string, CachedReport>();
  let bytes = 0;
  const drop = (question: string) => {
    bytes -= reports.get(question)?.rest.length ?? 0;
    reports.delete(question);
  };
  return {
    /** The cached report of a query, and the whole seconds until it expires. */
    get(question: string, now: number): { readonly held: CachedReport; readonly secondsLeft: number } | undefined {
      const held = reports.get(question);
      if (held === undefined) return undefined;
      const left = held.at + seconds * 1000 - now;
      if (left > 0) return { held, secondsLeft: Math.ceil(left / 1000) };
      drop(question);
      return undefined;
    },
    put(question: string, report: CachedReport): void {
      drop(question);
      if (seconds === 0) return;
      reports.set(question, report);
      bytes += report.rest.length;
      for (const oldest of reports.keys()) {
        if (bytes <= MAX_BYTES) return;
        drop(oldest);
      }
    },
  };
}
