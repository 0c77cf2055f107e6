import { xmlText } from './text.ts';

/** A part of the package that we write ourselves. */
export interface Part {
  /** Path in the zip, without a slash in front. */
  readonly name: string;
  readonly xml: string;
  /** Absent for relations, which the package knows by their ending. */
  readonly contentType?: string;
}

/** A chart and where it stands on its sheet. */
export interface Drawn {
  readonly xml: string;
  /** Its name in Excel's selection pane. */
  readonly name: string;
  /** Read out to those who cannot see it. */
  readonly description: string;
  /** It covers the cells from `from` up to, and without, `to`, counted from 0: as wide as the columns, whatever the font. */
  readonly from: { readonly row: number; readonly column: number };
  readonly to: { readonly row: number; readonly column: number };
}

const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/package/2006/relationships';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

const corner = (name: 'from' | 'to', at: Drawn['from']): string =>
  `<xdr:${name}><xdr:col>${at.column}</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>${at.row}</xdr:row><xdr:rowOff>0</xdr:rowOff></xdr:${name}>`;

const anchor = (drawn: Drawn, index: number): string =>
  `<xdr:twoCellAnchor editAs="oneCell">${corner('from', drawn.from)}${corner('to', drawn.to)}` +
  `<xdr:graphicFrame macro=""><xdr:nvGraphicFramePr><xdr:cNvPr id="${index + 2}" name="${xmlText(drawn.name)}" descr="${xmlText(drawn.description)}"/><xdr:cNvGraphicFramePr/></xdr:nvGraphicFramePr>` +
  '<xdr:xfrm><a:off x="0" y="0"/><a:ext cx="0" cy="0"/></xdr:xfrm>' +
  `<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/chart"><c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" r:id="rId${index + 1}"/></a:graphicData></a:graphic>` +
  '</xdr:graphicFrame><xdr:clientData/></xdr:twoCellAnchor>';

/**
 * The parts of one sheet's drawing (ECMA-376 part 1 §20.5), and what the sheet relates to.
 * @param before how many parts were added before, so that names differ
 */
export function drawingParts(charts: readonly Drawn[], before: number): { parts: Part[]; target: string } {
  const drawing = `drawing${before + 1}.xml`;
  const chartName = (index: number) => `chart${before + index + 1}.xml`;
  const relations = charts
    .map(
      (_, index) =>
        `<Relationship Id="rId${index + 1}" Type="${OFFICE}/chart" Target="../charts/${chartName(index)}"/>`,
    )
    .join('');
  const parts: Part[] = [
    {
      name: `xl/drawings/${drawing}`,
      contentType: 'application/vnd.openxmlformats-officedocument.drawing+xml',
      xml: `${DECLARATION}<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="${OFFICE}">${charts.map(anchor).join('')}</xdr:wsDr>`,
    },
    {
      name: `xl/drawings/_rels/${drawing}.rels`,
      xml: `${DECLARATION}<Relationships xmlns="${RELATIONSHIPS}">${relations}</Relationships>`,
    },
    ...charts.map(({ xml }, index) => ({
      name: `xl/charts/${chartName(index)}`,
      contentType: 'application/vnd.openxmlformats-officedocument.drawingml.chart+xml',
      xml,
    })),
  ];
  return { parts, target: `../drawings/${drawing}` };
}
