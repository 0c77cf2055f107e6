import { createHash } from 'node:crypto';
import { DocketError } from '../base/error.ts';
import type { Dataset } from '../fetch/dataset.ts';
import { DEFAULT_LOCALE, type Words, wordsOf } from '../words/words.ts';
import type { Artifact, MailBody, Picture } from './artifact.ts';
import { isPaintable, loadPainter } from './chart-picture.ts';
import { type Digest, type DigestSection, digestOf, MAX_ROWS } from './digest.ts';
import { type MailOptions, mailData, type Room, type ShownPicture } from './mail-data.ts';
import { htmlData, textData } from './mail-text.ts';
import { chartText, pictureNote } from './mail-words.ts';
import { loadTemplate } from './template.ts';

export type { MailOptions };

/** Gmail cuts a message's HTML at 102 KB; headers and encodings are not counted in ours. */
export const MAX_HTML_BYTES = 100_000;

const ALL = Number.POSITIVE_INFINITY;
/** Tried in turn until the HTML is small enough: fewer rows first, then fewer sections. */
const ROOMS: readonly Room[] = [
  ...[MAX_ROWS, 7, 5, 3, 0].map((rows) => ({ rows, sections: ALL, entries: 12 })),
  ...[30, 15, 7, 3, 0].map((sections) => ({ rows: 0, sections, entries: 6 })),
];

interface Painted {
  readonly section: string;
  readonly picture: Picture;
  readonly shown: ShownPicture;
}

/** The pictures of the sections that have a chart to draw. */
async function paintAll(sections: readonly DigestSection[], locale: string): Promise<Painted[]> {
  const charts = sections.flatMap((section) =>
    section.chart !== undefined && isPaintable(section.chart) ? [{ section, chart: section.chart }] : [],
  );
  if (charts.length === 0) return [];
  const paint = await loadPainter();
  return charts.map(({ section, chart }) => {
    const { id } = section;
    const bytes = paint(chart, locale);
    // The same picture has the same id in every attempt; another picture never has it.
    const cid = `${id}.${createHash('sha256').update(bytes).digest('hex').slice(0, 24)}@docket`;
    return {
      section: id,
      picture: { cid, name: `mail-${id}.png`, bytes },
      shown: { cid, alt: chartText(chart, locale), note: pictureNote(chart, section, wordsOf(locale)) },
    };
  });
}

/** A chart without its picture is told among the notes, so that nobody looks for it. */
const tellUnpainted = (digest: Digest, { chart }: Words): Digest => ({
  ...digest,
  sections: digest.sections.map((section) =>
    section.chart === undefined || isPaintable(section.chart)
      ? section
      : { ...section, notes: [...section.notes, chart.unpaintable] },
  ),
});

/**
 * The e-mail's two bodies from `email/report.mjml` and `email/report.txt.liquid`, with the pictures that the HTML shows:
 * the KPI digest with what is incomplete at its top. The HTML stays under Gmail's limit: sections show fewer rows until
 * it does, then fewer sections are shown, and the mail says so. The same figures make the same bytes.
 * Throws `template.invalid` with file, line and column, `render.failed` when even the smallest mail is too large.
 */
export async function renderMail(
  dataset: Dataset,
  artifacts: readonly Artifact[],
  options: MailOptions,
): Promise<MailBody> {
  const locale = options.locale ?? DEFAULT_LOCALE;
  const [html, text] = [loadTemplate('html', options.templates), loadTemplate('text', options.templates)];
  const digest = tellUnpainted(digestOf({ dataset, locale }), wordsOf(locale));
  const painted = await paintAll(digest.sections, locale);
  const pictures = new Map(painted.map(({ section, shown }) => [section, shown]));
  for (const room of ROOMS) {
    const data = mailData({ dataset, digest, artifacts, pictures, options }, room);
    const filled = html.fill(htmlData(data));
    if (Buffer.byteLength(filled) > MAX_HTML_BYTES) continue;
    return {
      html: filled,
      text: text.fill(textData(data)),
      // A picture that no place shows would arrive as an attachment that nobody asked for.
      pictures: painted.map(({ picture }) => picture).filter(({ cid }) => filled.includes(`cid:${cid}`)),
    };
  }
  throw new DocketError('render.failed', 'The e-mail would be larger than mail programs show.', {
    where: html.file,
    expected: `at most ${MAX_HTML_BYTES.toLocaleString('en')} bytes of HTML`,
    got: `${dataset.tables.length} sections`,
    next: 'Split the report into several, or use a shorter e-mail template of your own.',
  });
}
