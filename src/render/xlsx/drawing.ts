import { xmlText } from './text.ts';

/** A part of the package that we write ourselves. */
export interface Part {
  /** Path in the zip, without a slash in front. */
  readonly name: string;
  readonly xml: string | Uint8Array;
  /** Absent for relations, which the package knows by their ending. */
  readonly contentType?: string;
}

/** A cell's place, counted from 0. */
interface Place {
  readonly row: number;
  readonly column: number;
}

interface Named {
  /** Its name in Excel's selection pane. */
  readonly name: string;
  /** Read out to those who cannot see it. */
  readonly description: string;
  readonly from: Place;
}

/** A chart and where it stands on its sheet: from `from` up to, and without, `to`, as wide as the columns whatever the font. */
export interface DrawnChart extends Named {
  readonly xml: string;
  readonly to: Place;
}

/** A picture, its left upper corner in that of `from`. */
export interface DrawnPicture extends Named {
  readonly bytes: Uint8Array;
  readonly format: 'png' | 'jpeg';
  /** As it is shown, in pixels of 1/96 inch. */
  readonly width: number;
  readonly height: number;
}

export type Drawn = DrawnChart | DrawnPicture;

const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/package/2006/relationships';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** English Metric Units of a pixel. */
const PIXEL = 9525;

const corner = (name: 'from' | 'to', at: Place): string =>
  `<xdr:${name}><xdr:col>${at.column}</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>${at.row}</xdr:row><xdr:rowOff>0</xdr:rowOff></xdr:${name}>`;

const properties = ({ name, description }: Named, index: number): string =>
  `<xdr:cNvPr id="${index + 2}" name="${xmlText(name)}" descr="${xmlText(description)}"/>`;

const chartAnchor = (chart: DrawnChart, index: number): string =>
  `<xdr:twoCellAnchor editAs="oneCell">${corner('from', chart.from)}${corner('to', chart.to)}` +
  `<xdr:graphicFrame macro=""><xdr:nvGraphicFramePr>${properties(chart, index)}<xdr:cNvGraphicFramePr/></xdr:nvGraphicFramePr>` +
  '<xdr:xfrm><a:off x="0" y="0"/><a:ext cx="0" cy="0"/></xdr:xfrm>' +
  `<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/chart"><c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" r:id="rId${index + 1}"/></a:graphicData></a:graphic>` +
  '</xdr:graphicFrame><xdr:clientData/></xdr:twoCellAnchor>';

function pictureAnchor(picture: DrawnPicture, index: number): string {
  const extent = `cx="${Math.round(picture.width * PIXEL)}" cy="${Math.round(picture.height * PIXEL)}"`;
  return (
    `<xdr:oneCellAnchor>${corner('from', picture.from)}<xdr:ext ${extent}/>` +
    `<xdr:pic><xdr:nvPicPr>${properties(picture, index)}<xdr:cNvPicPr><a:picLocks noChangeAspect="1"/></xdr:cNvPicPr></xdr:nvPicPr>` +
    `<xdr:blipFill><a:blip r:embed="rId${index + 1}"/><a:stretch><a:fillRect/></a:stretch></xdr:blipFill>` +
    `<xdr:spPr><a:xfrm><a:off x="0" y="0"/><a:ext ${extent}/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></xdr:spPr></xdr:pic>` +
    '<xdr:clientData/></xdr:oneCellAnchor>'
  );
}

/** What is drawn, as a part of its own. */
const contentPart = (drawn: Drawn, number: number): Part =>
  'xml' in drawn
    ? {
        name: `xl/charts/chart${number}.xml`,
        contentType: 'application/vnd.openxmlformats-officedocument.drawingml.chart+xml',
        xml: drawn.xml,
      }
    : { name: `xl/media/image${number}.${drawn.format}`, contentType: `image/${drawn.format}`, xml: drawn.bytes };

/**
 * The parts of one sheet's drawing (ECMA-376 part 1 §20.5), and what the sheet relates to.
 * @param before how many parts were added before, so that names differ
 */
export function drawingParts(drawn: readonly Drawn[], before: number): { parts: Part[]; target: string } {
  const drawing = `drawing${before + 1}.xml`;
  const contents = drawn.map((each, index) => contentPart(each, before + index + 1));
  const relations = contents
    .map(({ name }, index) => {
      const type = name.startsWith('xl/charts/') ? 'chart' : 'image';
      return `<Relationship Id="rId${index + 1}" Type="${OFFICE}/${type}" Target="${name.replace(/^xl/, '..')}"/>`;
    })
    .join('');
  const anchors = drawn.map((each, index) => ('xml' in each ? chartAnchor(each, index) : pictureAnchor(each, index)));
  const parts: Part[] = [
    {
      name: `xl/drawings/${drawing}`,
      contentType: 'application/vnd.openxmlformats-officedocument.drawing+xml',
      xml: `${DECLARATION}<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="${OFFICE}">${anchors.join('')}</xdr:wsDr>`,
    },
    {
      name: `xl/drawings/_rels/${drawing}.rels`,
      xml: `${DECLARATION}<Relationships xmlns="${RELATIONSHIPS}">${relations}</Relationships>`,
    },
    ...contents,
  ];
  return { parts, target: `../drawings/${drawing}` };
}
