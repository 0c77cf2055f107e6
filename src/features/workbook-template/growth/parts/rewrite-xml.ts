import type { TemplatePackage } from '../../package/template-package.ts';
import { changeAttributes, escapeXmlText, tokenizeXml } from '../../package/tokenize-xml.ts';
import type { XmlOpen, XmlToken } from '../../package/xml-tokens.ts';

/** A part that is read into memory. */
export interface XmlPart {
  /** Its name in the package, for messages: `xl/workbook.xml`. */
  readonly name: string;
  readonly text: string;
}

/** @throws DocketError `template.invalid` during iteration, if the part is not well-formed */
export const tokenizePart = ({ name, text }: XmlPart): Iterable<XmlToken> => tokenizeXml(text, name);

export const readPart = async (template: Pick<TemplatePackage, 'readText'>, name: string): Promise<XmlPart> => ({
  name,
  text: await template.readText(name),
});

/** The changes to a part. Each function returns undefined to leave an element unchanged. */
export interface XmlRewriter {
  /** New attributes of an element; null removes one. `ancestors`: from the root to the parent. */
  readonly attributes?: (element: XmlOpen, ancestors: readonly XmlOpen[]) => AttributeChanges | undefined;
  /** The new text of an element that contains only text. */
  readonly text?: (text: string, element: XmlOpen, ancestors: readonly XmlOpen[]) => string | undefined;
  /** Returns a function that makes the new XML of a whole element from its tokens. */
  readonly element?: (element: XmlOpen, ancestors: readonly XmlOpen[]) => RewriteElement | undefined;
}

export type AttributeChanges = Readonly<Record<string, string | null>>;

export type RewriteElement = (tokens: readonly XmlToken[]) => string | undefined;

/**
 * The XML of the tokens with a rewriter's changes; undefined if it changes nothing. Unchanged content stays the same,
 * byte for byte.
 * @param outside the elements around the tokens, from the root on
 */
export function rewriteXml(
  tokens: Iterable<XmlToken>,
  rewriter: XmlRewriter,
  outside: readonly XmlOpen[] = [],
): string | undefined {
  const out: string[] = [];
  const ancestors = [...outside];
  let changed = false;
  /** The element that is replaced as a whole, until its end. */
  let whole: { readonly tokens: XmlToken[]; depth: number; readonly rewrite: RewriteElement } | null = null;
  /** The text of the innermost element while it contains nothing else, and its position in `out`. */
  let text: { value: string; readonly from: number } | null = null;
  const put = (raw: string, replacement: string | undefined): void => {
    if (replacement !== undefined && replacement !== raw) changed = true;
    out.push(replacement ?? raw);
  };

  for (const token of tokens) {
    if (whole !== null) {
      whole.tokens.push(token);
      whole.depth += token.kind === 'open' ? 1 : token.kind === 'close' ? -1 : 0;
      if (whole.depth > 0) continue;
      put(joinRaw(whole.tokens), whole.rewrite(whole.tokens));
      whole = null;
    } else if (token.kind === 'open') {
      text = null;
      const rewrite = rewriter.element?.(token, ancestors);
      if (rewrite !== undefined) {
        whole = { tokens: [token], depth: 1, rewrite };
        continue;
      }
      const attributes = rewriter.attributes?.(token, ancestors);
      put(token.raw, attributes && changeAttributes(token, attributes));
      ancestors.push(token);
      text = { value: '', from: out.length };
    } else if (token.kind === 'close') {
      const element = ancestors.pop();
      if (element !== undefined && text !== null && out.length > text.from) {
        const replacement = rewriter.text?.(text.value, element, ancestors);
        if (replacement !== undefined && replacement !== text.value) {
          changed = true;
          out.splice(text.from, out.length, escapeXmlText(replacement));
        }
      }
      text = null;
      out.push(token.raw);
    } else {
      if (token.kind === 'text' && text !== null) text.value += token.text;
      out.push(token.raw);
    }
  }
  return changed ? out.join('') : undefined;
}

/** The unchanged XML of tokens. */
export const joinRaw = (tokens: readonly XmlToken[]): string => tokens.map(({ raw }) => raw).join('');

/** The text content of tokens. */
export const joinText = (tokens: readonly XmlToken[]): string =>
  tokens.map((token) => (token.kind === 'text' ? token.text : '')).join('');

/** The prefix of an element's name, with its colon. */
export const getPrefix = ({ name, local }: XmlOpen): string => name.slice(0, name.length - local.length);
