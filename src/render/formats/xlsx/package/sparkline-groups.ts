import { PREVIOUS_PERIOD_COLOUR, SERIES_COLOURS } from '../../../charts/chart.ts';
import { columnLetters, escapeXml } from './xml-text.ts';

/** A native sparkline: a small line in a cell. */
export interface Sparkline {
  /** The row is counted from 1, the column from 0. */
  readonly row: number;
  readonly column: number;
  /** The cells with its points, in one column of a sheet. */
  readonly points: {
    readonly sheet: string;
    readonly column: number;
    readonly rows: { readonly from: number; readonly to: number };
  };
  /** Its last bucket is cut off or has not ended. */
  readonly endsPartial: boolean;
}

const COLOUR = `FF${SERIES_COLOURS[0]}`;
const LAST_COLOUR = `FF${SERIES_COLOURS[1]}`;
/** Excel has no hollow markers, so a partial point is grey. */
const PARTIAL_COLOUR = `FF${PREVIOUS_PERIOD_COLOUR}`;
const colours = (last: string): string =>
  `<x14:colorSeries rgb="${COLOUR}"/><x14:colorNegative rgb="${COLOUR}"/><x14:colorAxis rgb="FF000000"/>` +
  `<x14:colorMarkers rgb="${COLOUR}"/><x14:colorFirst rgb="${COLOUR}"/><x14:colorLast rgb="${last}"/>` +
  `<x14:colorHigh rgb="${COLOUR}"/><x14:colorLow rgb="${COLOUR}"/>`;

const sparklineXml = ({ row, column, points: { sheet, column: of, rows } }: Sparkline): string => {
  const letters = columnLetters(of);
  const range = escapeXml(`'${sheet}'!${letters}${rows.from}:${letters}${rows.to}`);
  return `<x14:sparkline><xm:f>${range}</xm:f><xm:sqref>${columnLetters(column)}${row}</xm:sqref></x14:sparkline>`;
};

const groupXml = (sparklines: readonly Sparkline[], last: string): string =>
  sparklines.length === 0
    ? ''
    : `<x14:sparklineGroup lineWeight="1.5" displayEmptyCellsAs="gap" last="1">${colours(last)}` +
      `<x14:sparklines>${sparklines.map(sparklineXml).join('')}</x14:sparklines></x14:sparklineGroup>`;

/**
 * The sparklines of a sheet ([MS-XLSX] §2.6.157), as an entry of its extensions; '' if there are none. An empty cell is
 * a gap.
 */
export function sparklinesExtension(sparklines: readonly Sparkline[]): string {
  if (sparklines.length === 0) return '';
  const [partial, whole] = [true, false].map((ends) => sparklines.filter(({ endsPartial }) => endsPartial === ends));
  return (
    '<ext xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main" uri="{05C60535-1F16-4fd2-B633-F4F36F0B64E0}">' +
    '<x14:sparklineGroups xmlns:xm="http://schemas.microsoft.com/office/excel/2006/main">' +
    `${groupXml(whole ?? [], LAST_COLOUR)}${groupXml(partial ?? [], PARTIAL_COLOUR)}</x14:sparklineGroups></ext>`
  );
}
