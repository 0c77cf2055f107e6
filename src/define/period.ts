/** Civil dates, both included, and the zone in which they are days. Frozen when the run is triggered (not "now" of a retry). */
export interface Period {
  /** YYYY-MM-DD */
  readonly from: string;
  /** YYYY-MM-DD */
  readonly to: string;
  /** IANA zone */
  readonly timezone: string;
  /** For file names and titles: `2026-W46`, `2026-10`, `2026-11-16 – 2026-11-19`. */
  readonly label: string;
}
