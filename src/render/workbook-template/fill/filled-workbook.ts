/** What of a template was filled, for the manifest and the page. */
export interface FilledWorkbook {
  /** As the definition names it. */
  readonly template: string;
  /** SHA-256 (hex) of the template. */
  readonly sha256: string;
  /** SHA-256 (hex) of the file that the definition was loaded with, where it was another: it has changed since. */
  readonly defined_sha256?: string;
  readonly tables: readonly FilledTable[];
  readonly names: readonly FilledName[];
}

export interface FilledTable {
  readonly name: string;
  readonly sheet: string;
  /** After filling, with header and totals rows: `B4:F16`. */
  readonly range: string;
  readonly section: string;
  /** Rows of data; 0: the section has none, and one empty row is left. */
  readonly rows: number;
  /** One for each column of the table. `bound`: what it got, e.g. `onboarding.profiles.created.previous_period`; null: its own. */
  readonly columns: readonly { readonly header: string; readonly bound: string | null }[];
}

export interface FilledName {
  readonly name: string;
  /** `Board!B4`. */
  readonly cell: string;
}
