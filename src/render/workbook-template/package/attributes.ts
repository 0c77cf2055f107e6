import type { XmlOpen } from './xml-tokens.ts';

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
