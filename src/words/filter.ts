/** A condition that every row of a table meets, as data: labels where the catalog has them. */
export type Filter =
  | { readonly is: readonly string[]; readonly label: string }
  | { readonly isNot: readonly string[]; readonly label: string }
  | { readonly search: string };
