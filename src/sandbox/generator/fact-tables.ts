/** The instant of an event that has not happened. It is later than any present. */
export const NEVER = Number.POSITIVE_INFINITY;

/** Codes are positions in these lists, which contain the dimension values of the catalog (specification §2.5, §3). */
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

/** The value that a code stands for. */
export const codeName = (list: keyof typeof CODES, code: number | undefined): string => CODES[list][code ?? 0] ?? '';

/** The code of a value, e.g. `code('status', 'AP')`. */
export function valueCode<List extends keyof typeof CODES>(list: List, value: (typeof CODES)[List][number]): number {
  const values: readonly string[] = CODES[list];
  return values.indexOf(value);
}

const instants = Float64Array;
const codes = Uint8Array;
const rows = Uint32Array;

/**
 * The columns of one organization's history. A row is an entity. `instants` are epoch ms in whole seconds, `NEVER` if
 * it has not happened. `codes` are positions in `CODES`, or 0 and 1. `rows` are row numbers in another table. Each
 * table is sorted by its first column. Instants may be in the future, so readers compare them with the present.
 */
export const COLUMNS = {
  profiles: {
    created: instants,
    /** When it was first Approved or Declined. */
    decided: instants,
    approved: codes,
    type: codes,
    /** Index of the organization's group; without a group, one after the last index. */
    group: codes,
    risk: codes,
    source: codes,
  },
  reviews: { opened: instants, due: instants, decided: instants, decision: codes, profile: rows },
  hits: { found: instants, resolved: instants, kind: codes, resolution: codes, profile: rows },
  /** `outcome`: `closed` or `dismissed`, even if it has not happened yet. */
  alerts: { created: instants, assigned: instants, closed: instants, type: codes, outcome: codes, profile: rows },
  rfis: { sent: instants, due: instants, answered: instants, withdrawn: instants, profile: rows },
  /** `screened`: the first successful screening. */
  addresses: { added: instants, screened: instants, network: codes, screenable: codes, profile: rows },
  /**
   * `rating`: without meaning if the run failed. `rose`: the rating is above that of the address's last successful run.
   */
  runs: { at: instants, failed: codes, rating: codes, rose: codes, address: rows, profile: rows },
  /** `held`: it was held as a possible duplicate and did not become a profile. */
  forms: { invited: instants, submitted: instants, held: codes, group: codes },
  transactions: { received: instants, closed: instants, recommended: codes, decided: codes, profile: rows },
} as const;

export type TableName = keyof typeof COLUMNS;
export type Columns<Name extends TableName> = {
  readonly [Column in keyof (typeof COLUMNS)[Name]]: (typeof COLUMNS)[Name][Column] extends { prototype: infer Kind }
    ? Kind
    : never;
};

/** The history in columns. */
export type FactTables = { readonly [Name in TableName]: Columns<Name> } & {
  /** `changes`: where each profile's changes begin in the table of changes. It has one entry more than the table. */
  readonly profiles: { readonly changes: Uint32Array };
  /** When profiles got a review status, by profile, then time. */
  readonly changes: { readonly at: Float64Array; readonly to: Uint8Array };
};

/** A generated row. It refers to other rows as objects, which get their numbers after sorting. */
export type Entity<Name extends TableName> = {
  -readonly [Column in keyof Columns<Name>]: Columns<Name>[Column] extends Uint32Array
    ? { readonly row: number }
    : number;
};
export type Profile = Entity<'profiles'> & {
  row: number;
  readonly changes: { readonly at: number; readonly to: number }[];
};
export type Address = Entity<'addresses'> & { row: number };

/** Collects generated rows, unsorted. */
export interface Entities extends EntityLists {
  readonly profiles: Profile[];
  readonly addresses: Address[];
}
type EntityLists = { readonly [Name in TableName]: Entity<Name>[] };

/**
 * The first index from 0 to `count` for which `isAfter` is true, if it is true for all later ones; `count` if there is
 * none.
 */
export function firstIndex(count: number, isAfter: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isAfter(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The number of rows in a table. */
export const rowCount = (facts: FactTables, table: TableName): number => Object.values(facts[table])[0]?.length ?? 0;

export interface History {
  readonly facts: FactTables;
  /** Events are complete up to this instant. */
  readonly horizon: number;
}
