/** A piece of an XML document. The `raw` texts of all tokens, one after the other, are the document. */
export type XmlToken = XmlOpen | XmlClose | XmlText | XmlOther;

export interface XmlOpen {
  readonly kind: 'open';
  /** As written, with its prefix. */
  readonly name: string;
  /** Without its prefix. */
  readonly local: string;
  /** By name as written, with entities resolved. */
  readonly attributes: Readonly<Record<string, string>>;
  /** `<a/>`: a token of kind `close` with an empty `raw` follows. */
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
  /** With entities resolved. */
  readonly text: string;
  readonly raw: string;
}

/** The declaration, comments, processing instructions. */
export interface XmlOther {
  readonly kind: 'other';
  readonly raw: string;
}

/** The value of an attribute without a prefix. */
export const attributeOf = ({ attributes }: XmlOpen, name: string): string | undefined =>
  Object.hasOwn(attributes, name) ? attributes[name] : undefined;

/** The value of an attribute with any prefix, such as `r:id`: documents may choose another prefix than Excel's. */
export function prefixedAttributeOf({ attributes }: XmlOpen, local: string): string | undefined {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.endsWith(`:${local}`) && !name.startsWith('xmlns:')) return value;
  }
  return undefined;
}

/** A boolean attribute (`xsd:boolean`, and the `on` and `off` of old files). */
export function booleanOf(open: XmlOpen, name: string, fallback: boolean): boolean {
  const value = attributeOf(open, name);
  return value === undefined ? fallback : value === '1' || value === 'true' || value === 'on';
}
