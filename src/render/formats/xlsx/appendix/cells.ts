import type { Cell } from '../package/sheet-rows.ts';
import type { SheetWriter } from '../package/sheet-writer.ts';
import { STYLES } from '../style/styles.ts';

/** A row of column headings. */
export const writeHeader = (sheet: SheetWriter, labels: readonly string[]): Promise<void> =>
  sheet.addRow(
    labels.map((value) => ({ value, style: STYLES.headerLabel })),
    18,
  );

export const textCell = (value: string | undefined, style: Cell['style'] = STYLES.cellText): Cell => ({
  value: value ?? '',
  style,
});
