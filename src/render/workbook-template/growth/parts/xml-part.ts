import type { TemplatePackage } from '../../package/template-package.ts';
import { tokenizeXml } from '../../package/tokenize-xml.ts';
import type { XmlToken } from '../../package/xml-tokens.ts';

/** A part that is read whole. */
export interface XmlPart {
  /** In the package, for messages: `xl/workbook.xml`. */
  readonly name: string;
  readonly text: string;
}

/** @throws DocketError `template.invalid` while reading, if the part is not well-formed. */
export const tokensOf = ({ name, text }: XmlPart): Iterable<XmlToken> => tokenizeXml(text, name);

export const readPart = async (template: Pick<TemplatePackage, 'readText'>, name: string): Promise<XmlPart> => ({
  name,
  text: await template.readText(name),
});
