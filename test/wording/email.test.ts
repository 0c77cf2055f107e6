import { expect, test } from 'vitest';
import { renderEmail } from '../../src/render/email/render-email.ts';
import { allNotes } from '../support/all-notes.ts';
import { dataset, MADE_AT, onboarding, table, workload } from '../support/dataset.ts';

const FILE = { mediaType: '', path: '', bytes: 41_000, sha256: '' };
const FILES = [
  { ...FILE, name: 'Weekly KPIs.xlsx', format: 'xlsx' },
  { ...FILE, name: 'onboarding.csv', format: 'csv' },
];

const charted = { ...onboarding, id: 'charted', title: 'Charted', chart: 'line' as const };
const several = Array.from({ length: 40 }, (_, index) => ({ ...workload, id: `s${index}`, title: `Section ${index}` }));
const empty = table({ id: 'empty', title: 'Empty', columns: workload.columns, rows: [] });

/** E-mails that between them have every sentence: attachments, notes, charts, and what a small e-mail leaves out. */
const EMAILS = {
  'with an attachment': [dataset([charted, workload, empty]), { attached: ['xlsx'], onDemand: true }],
  'with CSV attached': [dataset([{ ...onboarding, running: true }]), { attached: ['csv'] }],
  'with every note': [dataset([{ ...onboarding, notes: allNotes() }]), {}],
  'with too much': [dataset([onboarding, ...several]), {}],
} as const;

test('the texts of the e-mail equal the recorded ones', async () => {
  const document: string[] = [];
  for (const locale of ['en-GB', 'de-CH']) {
    for (const [name, [data, options]] of Object.entries(EMAILS)) {
      const { html, text } = await renderEmail(data, FILES, {
        run: 'r'.repeat(32),
        madeAt: MADE_AT,
        locale,
        schedules: [
          { cron: '0 8 * * MON', timezone: 'Europe/Zurich' },
          { cron: '0 7 1 * *', timezone: 'Europe/Zurich', on: { business_day: -1 }, shift: 'next_business_day' },
        ],
        ...options,
      });
      const alternatives = [...html.matchAll(/<img[^>]* alt="([^"]+)"/g)].map(([, alt]) => alt ?? '');
      document.push(`== ${locale}, ${name}`, text, ...alternatives, '');
    }
  }
  await expect(`${document.join('\n')}\n`).toMatchFileSnapshot('email.txt');
});
