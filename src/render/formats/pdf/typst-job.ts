/** A file that the document may read, at a path relative to its root, with `/`. */
export interface TypstFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** What the compiling process is sent. */
export interface TypstJob {
  /** Path of the main file among `files`. */
  readonly main: string;
  /** All that the document can read. */
  readonly files: readonly TypstFile[];
  /** Paths of fonts on disk. */
  readonly fontFiles: readonly string[];
  /** Further fonts. */
  readonly fonts: readonly Uint8Array[];
  /** Unix time in seconds: the time of creation that the document shows. */
  readonly madeAt: number;
}

/** An error of Typst. `path` is relative to the root; null where Typst names no place. */
export interface TypstDiagnostic {
  readonly message: string;
  readonly path: string | null;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  readonly hints: readonly string[];
}

export type TypstResult =
  | { readonly kind: 'done'; readonly pdf: Uint8Array }
  /** Never empty. */
  | { readonly kind: 'failed'; readonly diagnostics: readonly TypstDiagnostic[] };
