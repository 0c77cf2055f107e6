/** The limits of the Compliance Service (specification §8). The catalog's `limits` object overrides the first three. */
export const LIMITS = {
  /** The most days of a report, both ends included. */
  max_range_days: 366,
  max_dimensions: 2,
  /** The most rows of a report. Also the default of `limit`. */
  max_rows: 5000,
  max_metrics: 20,
  /** The most values of a filter. */
  max_filter_values: 50,
  /** The number of days in a report without a range. */
  default_range_days: 30,
  default_timezone: 'UTC',
  /** How long (seconds) the service may answer a report from its cache. */
  report_cache_seconds: 3600,
} as const;

/** Calls per window (ms): metrics calls per API key, and the general rates per user (specification §8). */
export const RATE_LIMITS = {
  metrics: { calls: 30, windowMs: 60_000 },
  reads: { calls: 600, windowMs: 60_000 },
  writes: { calls: 120, windowMs: 60_000 },
} as const;
