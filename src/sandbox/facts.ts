/** The instant of what has not happened: later than every now. */
export const NEVER = Number.POSITIVE_INFINITY;

/** Codes are positions in these lists; the lists are the dimension values of the catalog (specification §2.5, §3). */
export const CODES = {
  type: ['individual', 'entity'],
  status: ['PR', 'UR', 'RS', 'RR', 'ES', 'AP', 'DE', 'AR'],
  risk: ['low', 'medium', 'high', 'severe'],
  source: ['manual', 'api', 'import', 'intake_form'],
  relationship: ['prospect', 'active', 'under_review', 'rejected', 'ended'],
  age: ['0_2', '3_7', '8_14', '15_plus'],
  alertType: ['watchlist', 'adverse_media', 'blockchain_address', 'duplicate'],
  alertStatus: ['open', 'in_progress', 'closed', 'dismissed'],
  hitKind: ['sanctions', 'pep', 'adverse_media'],
  resolution: ['unresolved', 'false_positive', 'true_match', 'inconclusive'],
  network: ['bitcoin', 'ethereum', 'tron', 'solana', 'monero'],
  verdict: ['release', 'report'],
} as const;

/** The code of a value, e.g. `code('status', 'AP')`. */
export function code<List extends keyof typeof CODES>(list: List, value: (typeof CODES)[List][number]): number {
  const values: readonly string[] = CODES[list];
  return values.indexOf(value);
}

/**
 * One organization's history in columns: a row is a thing, a `Float64Array` holds instants (epoch ms, whole seconds,
 * `NEVER` when it has not happened), a `Uint8Array` codes, a `Uint32Array` row numbers of another table.
 * Each table is sorted by its first column. Instants after "now" are the future: whoever reads compares with now.
 */
export interface Facts {
  readonly profiles: {
    readonly created: Float64Array;
    /** First arrival at Approved or Declined. */
    readonly decided: Float64Array;
    readonly approved: Uint8Array;
    readonly type: Uint8Array;
    /** Place among the organization's groups; one past the last where the profile has none. */
    readonly group: Uint8Array;
    readonly risk: Uint8Array;
    readonly source: Uint8Array;
    /** Where the profile's changes start in `changes`; one longer than the table. */
    readonly changes: Uint32Array;
  };
  /** Arrivals at a review status, by profile and then time. */
  readonly changes: { readonly at: Float64Array; readonly to: Uint8Array };
  readonly reviews: {
    readonly opened: Float64Array;
    readonly due: Float64Array;
    readonly decided: Float64Array;
    readonly decision: Uint8Array;
    readonly profile: Uint32Array;
  };
  readonly hits: {
    readonly found: Float64Array;
    readonly resolved: Float64Array;
    readonly kind: Uint8Array;
    readonly resolution: Uint8Array;
    readonly profile: Uint32Array;
  };
  readonly alerts: {
    readonly created: Float64Array;
    readonly assigned: Float64Array;
    readonly closed: Float64Array;
    readonly type: Uint8Array;
    /** `closed` or `dismissed`, once it is. */
    readonly outcome: Uint8Array;
    readonly profile: Uint32Array;
  };
  readonly rfis: {
    readonly sent: Float64Array;
    readonly due: Float64Array;
    readonly answered: Float64Array;
    readonly withdrawn: Float64Array;
    readonly profile: Uint32Array;
  };
  readonly addresses: {
    readonly added: Float64Array;
    /** First screening that succeeded. */
    readonly screened: Float64Array;
    readonly network: Uint8Array;
    readonly screenable: Uint8Array;
    readonly profile: Uint32Array;
  };
  readonly runs: {
    readonly at: Float64Array;
    readonly failed: Uint8Array;
    /** A risk code; of no meaning when the run failed. */
    readonly rating: Uint8Array;
    /** The rating is above the one of the address's last run that succeeded. */
    readonly rose: Uint8Array;
    readonly address: Uint32Array;
    readonly profile: Uint32Array;
  };
  readonly forms: {
    readonly invited: Float64Array;
    readonly submitted: Float64Array;
    /** Held as a possible duplicate instead of becoming a profile. */
    readonly held: Uint8Array;
    readonly group: Uint8Array;
  };
  readonly transactions: {
    readonly received: Float64Array;
    readonly closed: Float64Array;
    readonly recommended: Uint8Array;
    readonly decided: Uint8Array;
    readonly profile: Uint32Array;
  };
}

export type TableName = Exclude<keyof Facts, 'changes'>;

/** Rows of a table. */
export const rowCount = (facts: Facts, table: TableName): number => Object.values(facts[table])[0]?.length ?? 0;

export interface History {
  readonly facts: Facts;
  /** Midnight (UTC) of the first day with data, epoch ms. */
  readonly start: number;
  /** Everything before this instant is there. */
  readonly horizon: number;
}
