import type { Formats } from '../formats.ts';
import { chart } from './chart.ts';
import { mail } from './mail.ts';
import { notes } from './notes.ts';
import { table } from './table.ts';
import { workbook } from './workbook.ts';

/** Every message in English. Its type is what another language has to have. */
export const english = (to: Formats) => ({
  notes: notes(to),
  table: table(to),
  chart: chart(to),
  mail: mail(to),
  workbook: workbook(to),
});

export type Words = ReturnType<typeof english>;
