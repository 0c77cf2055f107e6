import type { Readable } from 'node:stream';

/** Limits of a template. A larger one is refused before anything is inflated. */
export const TEMPLATE_LIMITS = {
  /** Size of the file. */
  fileBytes: 64 * 1024 * 1024,
  parts: 10_000,
  /** Inflated size of all parts together. */
  inflatedBytes: 1024 * 1024 * 1024,
  /** Size of a part that is read into memory: all except sheets, shared strings and records of pivot tables. */
  partBytes: 64 * 1024 * 1024,
  /** Ratio of inflated to compressed size, for parts above 1 MB. */
  ratio: 500,
} as const;

/** A relationship of a part (ECMA-376 part 2, §9.3). */
export interface Relationship {
  readonly id: string;
  /** The URI of its type. */
  readonly type: string;
  /** A part name, e.g. `xl/worksheets/sheet1.xml`. For an external relationship, the text as written. */
  readonly target: string;
  readonly external: boolean;
}

/**
 * An opened template: an Open Packaging package (ECMA-376 part 2). Part names have no leading slash. Every method
 * throws `template.invalid` if the package breaks its rules or exceeds a limit.
 */
export interface TemplatePackage {
  /** The name of the file in diagnostics. */
  readonly file: string;
  /** The names of all parts, in the order of the zip. */
  readonly parts: readonly string[];
  has(part: string): boolean;
  /** From `[Content_Types].xml`; undefined if it names no type. */
  contentType(part: string): string | undefined;
  /** The relationships of a part, or of the package itself. */
  relationships(part?: string): Promise<readonly Relationship[]>;
  /** The text of a part, without a byte order mark. */
  readText(part: string): Promise<string>;
  /** The inflated bytes of a part. */
  openPart(part: string): Promise<Readable>;
  close(): Promise<void>;
}

/** The new content of a part; null removes it. Unchanged parts are copied byte for byte. */
export type PartChange = string | (() => AsyncIterable<string | Uint8Array>) | null;

/** Changes by part name, in any order. A name that is not in the template is added at the end. */
export type PackageChanges = ReadonlyMap<string, PartChange>;
