import type { LocaleFormatters } from '../formatters.ts';
import { chart } from './chart.ts';
import { mail } from './mail.ts';
import { notes } from './notes.ts';
import { status } from './status.ts';
import { table } from './table.ts';
import { workbook } from './workbook.ts';

/** Every message in English. Other languages must have the same type. */
export const englishMessages = (to: LocaleFormatters) => ({
  notes: notes(to),
  table: table(to),
  chart: chart(to),
  mail: mail(to),
  workbook: workbook(to),
  status: status(to),
});

export type Messages = ReturnType<typeof englishMessages>;
