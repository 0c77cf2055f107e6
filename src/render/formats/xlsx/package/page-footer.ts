import { wholeWords } from '../../../../base/text/cut-text.ts';
import { toLegalText } from './xml-text.ts';

/** The printed footer of each page. */
export interface Footer {
  readonly left: string;
  readonly right: string;
  /** The page number in Excel's codes: `Page &P of &N`. */
  readonly pages: string;
  /** Printed in the middle, before the page number. */
  readonly classification?: string | undefined;
}

/** The size of the footer on paper. Excel scales the footer with the sheet. */
const FOOTER_POINTS = 8;

/** The size comes before the font name, because a text that starts with a digit would be read as part of the size. */
const fontCode = (scale: number): string => `&${Math.ceil((FOOTER_POINTS * 100) / scale)}&"Arial,Regular"`;

/** Excel's limit for the whole footer, including codes. */
const MAX_FOOTER_LENGTH = 255;
const MAX_FOOTER_TEXT_LENGTH = 75;

/** Doubles `&`, which starts a code, and truncates with an ellipsis. */
function escapeFooterText(text: string, maxLength = MAX_FOOTER_TEXT_LENGTH): string {
  const doubled = (part: string): string => part.replaceAll('&', '&&');
  const line = toLegalText(text).replaceAll('\n', ' ');
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    if (doubled(kept + segment).length > maxLength) return `${doubled(wholeWords(line, kept))}…`;
    kept += segment;
  }
  return doubled(line);
}

/** The header codes that print a sheet's title on each page but the first, which has it in its cells. */
export const headerCodes = (title: string, scale: number): string =>
  `&L${fontCode(scale).replace('Regular', 'Bold')}${escapeFooterText(title, MAX_FOOTER_LENGTH / 2)}`;

/**
 * The footer in Excel's codes. If it is too long, the left text is truncated first, because the summary shows it in
 * full.
 * @param scale scale of the printed sheet, in per cent
 */
export function footerCodes({ left, right, pages, classification }: Footer, scale: number): string {
  const font = fontCode(scale);
  const label =
    classification === undefined ? '' : `&"Arial,Bold"${escapeFooterText(classification)}&"Arial,Regular" · `;
  const rest = `&C${font}${label}${pages}&R${font}${escapeFooterText(right)}`;
  const available = MAX_FOOTER_LENGTH - rest.length - `&L${font}…`.length;
  return `&L${font}${escapeFooterText(left, Math.min(available, MAX_FOOTER_TEXT_LENGTH))}${rest}`;
}
