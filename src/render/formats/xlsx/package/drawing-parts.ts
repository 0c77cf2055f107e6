import { escapeXml, type PackagePart, XML_DECLARATION } from './xml-text.ts';

/** A point in a cell. Row and column are counted from 0. */
export interface CellPosition {
  readonly row: number;
  readonly column: number;
  /** Pixels (1/96 inch) from the left and the top edge of the cell. */
  readonly x?: number;
  readonly y?: number;
}

interface DrawingLabel {
  /** The name in Excel's selection pane. */
  readonly name: string;
  /** The alternative text. */
  readonly description: string;
  readonly from: CellPosition;
}

/** A chart from the upper left corner of `from` to that of `to`. */
export interface ChartDrawing extends DrawingLabel {
  readonly xml: string;
  readonly to: CellPosition;
}

/** An image with its upper left corner at `from`. */
export interface PictureDrawing extends DrawingLabel {
  readonly bytes: Uint8Array;
  readonly format: 'png' | 'jpeg';
  /** Displayed size in pixels (1/96 inch). */
  readonly width: number;
  readonly height: number;
  /** Only for programs that do not draw the sparkline in its cell. */
  readonly insteadOfSparkline?: true;
}

export type SheetDrawing = ChartDrawing | PictureDrawing;

const RELATIONSHIPS = 'http://schemas.openxmlformats.org/package/2006/relationships';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** English Metric Units per pixel. */
const EMU_PER_PIXEL = 9525;

const cornerXml = (name: 'from' | 'to', at: CellPosition): string =>
  `<xdr:${name}><xdr:col>${at.column}</xdr:col><xdr:colOff>${Math.round((at.x ?? 0) * EMU_PER_PIXEL)}</xdr:colOff><xdr:row>${at.row}</xdr:row><xdr:rowOff>${Math.round((at.y ?? 0) * EMU_PER_PIXEL)}</xdr:rowOff></xdr:${name}>`;

const propertiesXml = ({ name, description }: DrawingLabel, index: number): string =>
  `<xdr:cNvPr id="${index + 2}" name="${escapeXml(name)}" descr="${escapeXml(description)}"/>`;

const chartAnchor = (chart: ChartDrawing, index: number): string =>
  `<xdr:twoCellAnchor editAs="oneCell">${cornerXml('from', chart.from)}${cornerXml('to', chart.to)}` +
  `<xdr:graphicFrame macro=""><xdr:nvGraphicFramePr>${propertiesXml(chart, index)}<xdr:cNvGraphicFramePr/></xdr:nvGraphicFramePr>` +
  '<xdr:xfrm><a:off x="0" y="0"/><a:ext cx="0" cy="0"/></xdr:xfrm>' +
  `<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/chart"><c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" r:id="rId${index + 1}"/></a:graphicData></a:graphic>` +
  '</xdr:graphicFrame><xdr:clientData/></xdr:twoCellAnchor>';

function pictureAnchor(picture: PictureDrawing, index: number): string {
  const extent = `cx="${Math.round(picture.width * EMU_PER_PIXEL)}" cy="${Math.round(picture.height * EMU_PER_PIXEL)}"`;
  return (
    `<xdr:oneCellAnchor>${cornerXml('from', picture.from)}<xdr:ext ${extent}/>` +
    `<xdr:pic><xdr:nvPicPr>${propertiesXml(picture, index)}<xdr:cNvPicPr><a:picLocks noChangeAspect="1"/></xdr:cNvPicPr></xdr:nvPicPr>` +
    `<xdr:blipFill><a:blip r:embed="rId${index + 1}"/><a:stretch><a:fillRect/></a:stretch></xdr:blipFill>` +
    `<xdr:spPr><a:xfrm><a:off x="0" y="0"/><a:ext ${extent}/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></xdr:spPr></xdr:pic>` +
    '<xdr:clientData/></xdr:oneCellAnchor>'
  );
}

/**
 * Drawings that Excel leaves out: it knows the slicers of 2013, while other programs choose the fallback (ECMA-376 part
 * 3 §9). Excel 2010 shows the picture over its sparkline.
 */
const fallbackXml = (anchors: readonly string[]): string =>
  anchors.length === 0
    ? ''
    : '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">' +
      '<mc:Choice xmlns:sle15="http://schemas.microsoft.com/office/drawing/2012/slicer" Requires="sle15"/>' +
      `<mc:Fallback>${anchors.join('')}</mc:Fallback></mc:AlternateContent>`;

const isFallback = (drawing: SheetDrawing): boolean => 'bytes' in drawing && drawing.insteadOfSparkline === true;

/** The part with the content of a drawing. */
const contentPart = (drawing: SheetDrawing, number: number): PackagePart =>
  'xml' in drawing
    ? {
        name: `xl/charts/chart${number}.xml`,
        contentType: 'application/vnd.openxmlformats-officedocument.drawingml.chart+xml',
        xml: drawing.xml,
      }
    : { name: `xl/media/image${number}.${drawing.format}`, contentType: `image/${drawing.format}`, xml: drawing.bytes };

/**
 * The parts of one sheet's drawings (ECMA-376 part 1 §20.5), and the target of the sheet's relationship.
 * @param partCount number of parts added before, which makes the names unique. The images of exceljs are numbered from
 * 0 as well, but they are not used.
 */
export function drawingParts(
  drawings: readonly SheetDrawing[],
  partCount: number,
): { parts: PackagePart[]; target: string } {
  const drawing = `drawing${partCount + 1}.xml`;
  const contents = drawings.map((each, index) => contentPart(each, partCount + index + 1));
  const relations = contents
    .map(({ name }, index) => {
      const type = name.startsWith('xl/charts/') ? 'chart' : 'image';
      return `<Relationship Id="rId${index + 1}" Type="${OFFICE}/${type}" Target="${name.replace(/^xl/, '..')}"/>`;
    })
    .join('');
  const anchors = drawings.map((each, index) => ({
    fallback: isFallback(each),
    xml: 'xml' in each ? chartAnchor(each, index) : pictureAnchor(each, index),
  }));
  const anchorsXml = (fallback: boolean) => anchors.filter((each) => each.fallback === fallback).map(({ xml }) => xml);
  const parts: PackagePart[] = [
    {
      name: `xl/drawings/${drawing}`,
      contentType: 'application/vnd.openxmlformats-officedocument.drawing+xml',
      xml: `${XML_DECLARATION}<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="${OFFICE}">${anchorsXml(false).join('')}${fallbackXml(anchorsXml(true))}</xdr:wsDr>`,
    },
    {
      name: `xl/drawings/_rels/${drawing}.rels`,
      xml: `${XML_DECLARATION}<Relationships xmlns="${RELATIONSHIPS}">${relations}</Relationships>`,
    },
    ...contents,
  ];
  return { parts, target: `../drawings/${drawing}` };
}
