import type { Readable } from 'node:stream';

/** Limits of a template: larger ones are refused before anything of them is inflated. */
export const TEMPLATE_LIMITS = {
  /** Of the file. */
  fileBytes: 64 * 1024 * 1024,
  parts: 10_000,
  /** Of all parts together, inflated. */
  inflatedBytes: 1024 * 1024 * 1024,
  /** Of a part that is read whole: everything but sheets, shared strings and records of pivot tables. */
  partBytes: 64 * 1024 * 1024,
  /** Inflated to compressed size of a part above 1 MB. */
  ratio: 500,
} as const;

/** A relationship of a part (ECMA-376 part 2, §9.3). */
export interface Relationship {
  readonly id: string;
  /** The URI of its kind. */
  readonly type: string;
  /** The name of a part, e.g. `xl/worksheets/sheet1.xml`; of an external relationship what is written there. */
  readonly target: string;
  readonly external: boolean;
}

/**
 * An opened template: an Open Packaging package (ECMA-376 part 2). Names of parts have no slash at their start. Every method
 * throws `template.invalid` for what breaks the rules of packages or a limit.
 */
export interface TemplatePackage {
  /** As diagnostics name it. */
  readonly file: string;
  /** The names of all parts, in the order of the zip. */
  readonly parts: readonly string[];
  has(part: string): boolean;
  /** Of `[Content_Types].xml`; undefined where it names none. */
  contentType(part: string): string | undefined;
  /** The relationships of a part; of the package itself without one. */
  relationships(part?: string): Promise<readonly Relationship[]>;
  /** A part as text, without a byte order mark. */
  readText(part: string): Promise<string>;
  /** The inflated bytes of a part. */
  openPart(part: string): Promise<Readable>;
  close(): Promise<void>;
}

/** How a part is written: its new content, or null to leave it out. Parts without a change are copied byte for byte. */
export type PartChange = string | (() => AsyncIterable<string | Uint8Array>) | null;

/** Changes by the name of the part, in any order. A name that the template has not is added at the end. */
export type PackageChanges = ReadonlyMap<string, PartChange>;
