/** A piece of an XML document. Joined, the `raw` texts of all tokens are the document. */
export type XmlToken = XmlOpen | XmlClose | XmlText | XmlOther;

export interface XmlOpen {
  readonly kind: 'open';
  /** As written, including the prefix. */
  readonly name: string;
  /** The name without prefix. */
  readonly local: string;
  /** By name as written; values with entities resolved. */
  readonly attributes: Readonly<Record<string, string>>;
  /** True for `<a/>`. A `close` token with an empty `raw` follows. */
  readonly selfClosing: boolean;
  readonly raw: string;
}

export interface XmlClose {
  readonly kind: 'close';
  readonly name: string;
  readonly local: string;
  readonly raw: string;
}

/** Text, or a CDATA section. */
export interface XmlText {
  readonly kind: 'text';
  /** Text with entities resolved. */
  readonly text: string;
  readonly raw: string;
}

/** A declaration, comment or processing instruction. */
export interface XmlOther {
  readonly kind: 'other';
  readonly raw: string;
}

/** The value of an attribute without a prefix. */
export const attributeOf = ({ attributes }: XmlOpen, name: string): string | undefined =>
  Object.hasOwn(attributes, name) ? attributes[name] : undefined;

/** The value of an attribute with any prefix, such as `r:id`: documents can choose other prefixes than Excel. */
export function findPrefixedAttribute({ attributes }: XmlOpen, local: string): string | undefined {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.endsWith(`:${local}`) && !name.startsWith('xmlns:')) return value;
  }
  return undefined;
}

/** Parses a boolean attribute (`xsd:boolean`, and the `on` and `off` of old files). */
export function parseBoolean(open: XmlOpen, name: string, fallback: boolean): boolean {
  const value = attributeOf(open, name);
  return value === undefined ? fallback : value === '1' || value === 'true' || value === 'on';
}
