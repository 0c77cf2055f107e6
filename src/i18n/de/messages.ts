import type { Messages } from '../en/messages.ts';
import type { LocaleFormatters } from '../formatters.ts';
import { chart } from './chart.ts';
import { mail } from './mail.ts';
import { notes } from './notes.ts';
import { status } from './status.ts';
import { table } from './table.ts';
import { workbook } from './workbook.ts';

/** Every message in German, formal (Sie), spelled without the letter that Switzerland does not use. */
export const germanMessages = (to: LocaleFormatters): Messages => ({
  notes: notes(to),
  table: table(to),
  chart: chart(to),
  mail: mail(to),
  workbook: workbook(to),
  status: status(to),
});
