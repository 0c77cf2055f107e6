import type { Words } from '../en/english.ts';
import type { Formats } from '../formats.ts';
import { chart } from './chart.ts';
import { mail } from './mail.ts';
import { notes } from './notes.ts';
import { table } from './table.ts';
import { workbook } from './workbook.ts';

/** Every message in German, formal (Sie). Without the letter that Switzerland does not write. */
export const german = (to: Formats): Words => ({
  notes: notes(to),
  table: table(to),
  chart: chart(to),
  mail: mail(to),
  workbook: workbook(to),
});
