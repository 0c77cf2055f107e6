// What a life leaves behind. Instants are epoch ms, codes as in `CODES`; rows are numbered once all is sorted.

export interface Profile {
  row: number;
  readonly created: number;
  readonly type: number;
  readonly group: number;
  readonly risk: number;
  readonly source: number;
  readonly changes: { readonly at: number; readonly to: number }[];
}
export interface Review {
  readonly profile: Profile;
  readonly opened: number;
  readonly due: number;
  decided: number;
  decision: number;
}
export interface Hit {
  readonly profile: Profile;
  readonly found: number;
  readonly kind: number;
  readonly resolved: number;
  readonly resolution: number;
}
export interface Alert {
  readonly profile: Profile;
  readonly type: number;
  readonly created: number;
  readonly assigned: number;
  readonly closed: number;
  readonly outcome: number;
}
export interface Rfi {
  readonly profile: Profile;
  readonly sent: number;
  readonly due: number;
  readonly answered: number;
  readonly withdrawn: number;
}
export interface Address {
  row: number;
  readonly profile: Profile;
  readonly added: number;
  screened: number;
  readonly network: number;
  readonly screenable: boolean;
}
export interface Run {
  readonly address: Address;
  readonly at: number;
  readonly failed: boolean;
  readonly rating: number;
  readonly rose: boolean;
}
export interface Form {
  readonly invited: number;
  readonly submitted: number;
  readonly held: boolean;
  readonly group: number;
}
export interface Transaction {
  readonly profile: Profile;
  readonly received: number;
  readonly closed: number;
  readonly recommended: number;
  readonly decided: number;
}

/** Where the lives are written down, in no order. */
export interface Book {
  readonly profiles: Profile[];
  readonly reviews: Review[];
  readonly hits: Hit[];
  readonly alerts: Alert[];
  readonly rfis: Rfi[];
  readonly addresses: Address[];
  readonly runs: Run[];
  readonly forms: Form[];
  readonly transactions: Transaction[];
}
