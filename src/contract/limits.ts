/** The Compliance Service's limits (specification §8). The catalog's `limits` object overrides the first three. */
export const LIMITS = {
  /** Days a report may span, both ends included. */
  max_range_days: 366,
  max_dimensions: 2,
  /** Rows of one report; also the default of `limit`. */
  max_rows: 5000,
  max_metrics: 20,
  /** Values of one filter. */
  max_filter_values: 50,
  /** Days of a report without a range. */
  default_range_days: 30,
  default_timezone: 'UTC',
  /** Seconds for which the service may answer a report from its cache. */
  report_cache_seconds: 3600,
} as const;

/** Calls per window (ms): metrics calls per API key, and the general rates per user (specification §8). */
export const RATE_LIMITS = {
  metrics: { calls: 30, windowMs: 60_000 },
  reads: { calls: 600, windowMs: 60_000 },
  writes: { calls: 120, windowMs: 60_000 },
} as const;
