import { columnLetters, escapeXml } from './xml-text.ts';

/** A range of cells, both ends included. */
export interface CellRange {
  /** Counted from 1. */
  readonly rows: { readonly from: number; readonly to: number };
  /** Counted from 0. */
  readonly columns: { readonly from: number; readonly to: number };
}

/** What is repeated on every printed page. */
export interface PrintTitles {
  /** Counted from 1. */
  readonly rows?: CellRange['rows'] | undefined;
  /** The number of columns on the left. */
  readonly columns?: number | undefined;
}

/** The parts of a sheet that are printed. Each area begins a new page. */
export interface PrintedSheet {
  readonly sheet: string;
  readonly areas: readonly CellRange[];
  readonly titles: PrintTitles;
}

const areaReference = (sheet: string, { rows, columns }: CellRange): string =>
  `'${sheet}'!$${columnLetters(columns.from)}$${rows.from}:$${columnLetters(columns.to)}$${rows.to}`;

function titleReferences(sheet: string, { rows, columns = 0 }: PrintTitles): string[] {
  return [
    ...(columns === 0 ? [] : [`'${sheet}'!$A:$${columnLetters(columns - 1)}`]),
    ...(rows === undefined ? [] : [`'${sheet}'!$${rows.from}:$${rows.to}`]),
  ];
}

/**
 * The names that say what is printed (ECMA-376 part 1 §18.2.5); '' if there are none.
 * @param sheets the names of all sheets, in the order of the workbook
 */
export function definedNamesXml(printed: readonly PrintedSheet[], sheets: readonly string[]): string {
  const named = printed.flatMap(({ sheet, areas, titles }) => {
    const index = sheets.indexOf(sheet);
    const name = (id: string, references: readonly string[]): string[] =>
      references.length === 0
        ? []
        : [`<definedName name="_xlnm.${id}" localSheetId="${index}">${escapeXml(references.join(','))}</definedName>`];
    return [
      ...name(
        'Print_Area',
        areas.map((area) => areaReference(sheet, area)),
      ),
      ...name('Print_Titles', titleReferences(sheet, titles)),
    ];
  });
  return named.length === 0 ? '' : `<definedNames>${named.join('')}</definedNames>`;
}
