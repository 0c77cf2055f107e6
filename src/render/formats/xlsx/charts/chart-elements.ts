import { columnLetters, escapeXml, XML_DECLARATION } from '../package/xml-text.ts';
import { COLOURS, FONT } from '../style/styles.ts';

/**
 * The cells of a chart's data: categories in the first column, one series in each further column, names in the first
 * row.
 */
export interface ChartRange {
  readonly sheet: string;
  /** The row of the names, counted from 1. */
  readonly row: number;
}

/** In hundredths of a point. 10 points are 8.1 points on paper at the smallest scale. */
export const TEXT_SIZE = 1000;
const TEXT_COLOUR = COLOURS.text.slice(2);
const FONT_FACE = `<a:latin typeface="${FONT.name}"/>`;

export const rangeReference = (range: ChartRange, column: number, from: number, to: number): string => {
  const name = columnLetters(column);
  const start = `$${name}$${range.row + from}`;
  return escapeXml(`'${range.sheet}'!${from === to ? start : `${start}:$${name}$${range.row + to}`}`);
};

export const pointsXml = (values: readonly (string | number | null)[]): string =>
  `<c:ptCount val="${values.length}"/>${values
    .map((value, index) => (value === null ? '' : `<c:pt idx="${index}"><c:v>${escapeXml(String(value))}</c:v></c:pt>`))
    .join('')}`;

export const stringsXml = (formula: string, values: readonly string[]): string =>
  `<c:strRef><c:f>${formula}</c:f><c:strCache>${pointsXml(values)}</c:strCache></c:strRef>`;

const textProperties = (size: number, bold = false): string =>
  `<a:bodyPr/><a:lstStyle/><a:p><a:pPr><a:defRPr sz="${size}" b="${bold ? 1 : 0}"><a:solidFill><a:srgbClr val="${TEXT_COLOUR}"/></a:solidFill>${FONT_FACE}</a:defRPr></a:pPr>`;

export const titleXml = (text: string, size: number, bold: boolean): string =>
  `<c:title><c:tx><c:rich>${textProperties(size, bold)}<a:r><a:rPr sz="${size}" b="${bold ? 1 : 0}"><a:solidFill><a:srgbClr val="${TEXT_COLOUR}"/></a:solidFill>${FONT_FACE}</a:rPr><a:t>${escapeXml(text)}</a:t></a:r></a:p></c:rich></c:tx><c:overlay val="0"/></c:title>`;

export const smallText = `<c:txPr>${textProperties(TEXT_SIZE)}<a:endParaRPr/></a:p></c:txPr>`;
export const lineXml = (colour: string, width: number, dash = ''): string =>
  `<a:ln w="${width}" cap="rnd"><a:solidFill><a:srgbClr val="${colour}"/></a:solidFill>${dash}<a:round/></a:ln>`;

/** Sets the language in chart XML. People's texts are escaped, so only our own elements begin with `<`. */
const inLanguage = (xml: string, locale: string): string =>
  xml
    .replaceAll('<a:rPr ', `<a:rPr lang="${escapeXml(locale)}" `)
    .replaceAll('<a:endParaRPr/>', `<a:endParaRPr lang="${escapeXml(locale)}"/>`);

/**
 * The chart part that contains a plot.
 * @param title undefined if the sheet has it just above
 */
export const chartSpace = (
  title: { readonly text: string; readonly size: number } | undefined,
  plot: string,
  legend: boolean,
  locale: string,
  layout = '',
): string =>
  XML_DECLARATION +
  inLanguage(
    '<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">' +
      `<c:roundedCorners val="0"/><c:chart>${title === undefined ? '' : titleXml(title.text, title.size, true)}<c:autoTitleDeleted val="${title === undefined ? 1 : 0}"/><c:plotArea><c:layout>${layout}</c:layout>${plot}</c:plotArea>` +
      `${legend ? `<c:legend><c:legendPos val="b"/><c:overlay val="0"/>${smallText}</c:legend>` : ''}` +
      '<c:plotVisOnly val="0"/><c:dispBlanksAs val="gap"/></c:chart>' +
      '<c:spPr><a:solidFill><a:srgbClr val="FFFFFF"/></a:solidFill><a:ln><a:noFill/></a:ln></c:spPr>' +
      `<c:txPr>${textProperties(TEXT_SIZE)}<a:endParaRPr/></a:p></c:txPr></c:chartSpace>`,
    locale,
  );

/** Hatches the column of a bucket that is cut off or has not ended. */
export const hatchedPoint = (index: number, colour: string): string =>
  `<c:dPt><c:idx val="${index}"/><c:invertIfNegative val="0"/><c:bubble3D val="0"/><c:spPr><a:pattFill prst="wdUpDiag"><a:fgClr><a:srgbClr val="${colour}"/></a:fgClr><a:bgClr><a:srgbClr val="FFFFFF"/></a:bgClr></a:pattFill>${lineXml(colour, 9525)}</c:spPr></c:dPt>`;
