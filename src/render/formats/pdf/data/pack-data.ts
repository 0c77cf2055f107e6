import { isolateBidi } from '../../../../base/text/bidi.ts';
import type { Better } from '../../../../definitions/schema/targets.ts';
import type { Dataset } from '../../../../fetch/dataset.ts';
import { messagesFor, selectLanguage, type Words } from '../../../../i18n/messages.ts';
import { isBetterMeant } from '../../../figures/better.ts';
import { formatZonedInstant } from '../../../figures/format-date.ts';
import type { Pack, PackSection } from '../../../pack/pack.ts';
import { correctionText } from '../../../pack/review/correction.ts';
import type { PackComment } from '../../../pack/review/review.ts';
import { MAX_PDF_CELLS, MAX_PDF_ROWS } from '../pdf-limits.ts';
import { type ScorecardData, scorecardData } from './scorecard-data.ts';
import {
  type CommentData,
  commentData,
  createRowBudget,
  type SectionData,
  sectionData,
  unprintedSectionData,
} from './section-data.ts';

/** From this number of sections on, a pack has a table of contents. */
const MIN_CONTENTS = 12;
/** Printable width of pages in `templates/pack`, in points. */
const PAGE_WIDTHS = { a4: 762, letter: 712 } as const;

/**
 * What the templates in `templates/pack` get as `pack.json`: texts in the report's language, formatted figures, chart
 * positions from 0 to 1. None of it is markup.
 */
export interface PackData {
  /** BCP 47. */
  readonly locale: string;
  /** ISO 639, and ISO 3166 if the locale has a region. */
  readonly language: string;
  readonly region: string | null;
  readonly paper: 'a4' | 'letter';
  readonly organization: string;
  readonly title: string;
  /** May be empty, and so may the classification. */
  readonly description: string;
  readonly period: string;
  readonly classification: string;
  /** Who approved it; empty without an approval. */
  readonly approval: string;
  /** For a corrected edition: what it replaces, and a sentence for each changed figure. Null for a first edition. */
  readonly correction: {
    readonly text: string;
    readonly heading: string;
    readonly changes: readonly string[];
    /** How many changes are not listed; may be empty. */
    readonly more: string;
  } | null;
  readonly owner: string;
  /** File name of the logo beside `pack.json`; null if there is none. */
  readonly logo: string | null;
  readonly completeness: {
    readonly complete: boolean;
    readonly text: string;
    /** `section` is the section's title. */
    readonly notes: readonly { readonly section: string; readonly text: string }[];
  };
  readonly headlines: readonly string[];
  readonly summary: ScorecardData | null;
  /** What its figures cover, when they were computed, and what readers should know about them. */
  readonly summaryNotes: readonly string[];
  /** Comments on the figures of the summary, and on the whole report. */
  readonly summaryComments: readonly CommentData[];
  readonly comments: readonly CommentData[];
  /** Texts on the first page, which do not appear as sections. */
  readonly remarks: readonly {
    readonly title: string;
    readonly paragraphs: readonly string[];
    readonly comments: readonly CommentData[];
  }[];
  /** Whether a table of contents is shown. */
  readonly contents: boolean;
  /** The sections that are printed or have comments, without those on the first page. */
  readonly sections: readonly SectionData[];
  readonly definitions: readonly {
    readonly name: string;
    readonly id: string;
    readonly unit: string;
    readonly text: string;
  }[];
  /** Explains dashes, italics, colours and totals. */
  readonly legend: readonly string[];
  /** How the pack was made. */
  readonly made: readonly { readonly label: string; readonly text: string }[];
  readonly words: {
    readonly headlines: string;
    readonly contents: string;
    readonly definitions: string;
    readonly made: string;
    /** A text with `{page}` and `{pages}`. */
    readonly page: string;
    readonly running: string;
    readonly reading: string;
    readonly logo: string;
    readonly comments: string;
    /** A text with `{title}`, for pages on which a section continues. */
    readonly continued: string;
  };
}

export interface PackDataOptions {
  /** The run's id. */
  readonly run: string;
  /** SHA-256 (hex) of the definition. */
  readonly digest: string;
  /** Epoch ms. */
  readonly madeAt: number;
  /** File name of the logo; absent if there is none. */
  readonly logo?: string | undefined;
  /** Why the logo is left out; absent if it is not. */
  readonly logoLeftOut?: string | undefined;
  /** Formats of the report's outputs. */
  readonly formats: readonly string[];
}

type PackDataset = Pick<Dataset, 'targets' | 'org' | 'report' | 'registryVersion' | 'calls'>;

export function packData(pack: Pack, dataset: PackDataset, options: PackDataOptions): PackData {
  const { locale, summary, completeness } = pack;
  const words = messagesFor(locale);
  const { region } = new Intl.Locale(locale);
  const context = {
    locale,
    pageWidth: PAGE_WIDTHS[pack.paper],
    formats: options.formats,
    budget: createRowBudget(MAX_PDF_ROWS, MAX_PDF_CELLS),
  };
  const printed = pack.sections.filter((section) => section.printed);
  const onFirstPage = new Set([summary?.of, ...pack.remarks.map(({ of }) => of)]);
  const sections = pack.sections.filter(
    (section) => (section.printed || section.comments.length > 0) && !onFirstPage.has(section.table.id),
  );
  const said = (comment: PackComment) => commentData(comment, words);
  const summarized = pack.sections.find(({ table }) => table.id === summary?.of);
  return {
    locale,
    language: selectLanguage(locale),
    region: region ?? null,
    paper: pack.paper,
    organization: pack.organization,
    title: pack.title,
    description: pack.description ?? '',
    period: pack.periodText,
    classification: pack.classification ?? '',
    approval: pack.approval ?? '',
    correction: pack.correction === undefined ? null : { ...pack.correction, text: correctionText(pack.correction) },
    owner: pack.owner,
    logo: options.logo ?? null,
    completeness: { ...completeness, notes: completeness.notes.map(({ title: section, text }) => ({ section, text })) },
    headlines: pack.headlines,
    summary: summary === undefined ? null : scorecardData(summary.scorecard, locale),
    summaryNotes: pack.summaryNotes,
    summaryComments: (summarized?.comments ?? []).map(said),
    comments: pack.comments.map(said),
    remarks: pack.remarks.map(({ title, paragraphs, comments }) => ({
      title,
      paragraphs,
      comments: comments.map(said),
    })),
    contents: sections.length >= MIN_CONTENTS,
    sections: sections.map((section) =>
      section.printed ? sectionData(section, context) : unprintedSectionData(section, words),
    ),
    definitions: pack.definitions
      .filter(({ column, printed: shown }) => shown && column.kind === 'metric')
      .map(({ column: { label, name, description = '' }, unit, notes }) => ({
        name: label,
        id: name,
        unit,
        text: [description, ...notes].filter((text) => text !== '').join(' '),
      })),
    legend: buildLegend(printed, dataset, words),
    made: madeFacts(pack, dataset, options),
    words: {
      headlines: words.status.headlines,
      contents: words.workbook.sheets.contents,
      definitions: words.pack.definitions,
      reading: words.mail.template.how_to_read,
      made: words.pack.howMade,
      page: words.workbook.page('{page}', '{pages}'),
      running: words.mail.soFar,
      logo: words.workbook.summary.logoOf(pack.organization),
      comments: words.review.csv.title,
      continued: words.pdf.continued('{title}'),
    },
  };
}

/** Explains the marks, each once. The colours of changes share one sentence for all sections. */
function buildLegend(
  sections: readonly PackSection[],
  dataset: Pick<Dataset, 'targets'>,
  { status }: Words,
): readonly string[] {
  const columns = sections.flatMap(({ table, columns: own }) =>
    own.flatMap(({ role, source }) => (role === 'change' ? [{ table, source }] : [])),
  );
  const labels = (better: Better): readonly string[] => [
    ...new Set(
      columns.flatMap(({ table, source }) =>
        source.provisional !== true && isBetterMeant(dataset, table, source.name, better)
          ? [isolateBidi(source.label)]
          : [],
      ),
    ),
  ];
  const [higher, lower] = [labels('higher'), labels('lower')];
  const colours = status.betterMeans([], []);
  const others = sections.flatMap(({ legend }) => legend).filter((line) => !line.startsWith(colours));
  return [...new Set(others), ...(higher.length + lower.length === 0 ? [] : [status.betterMeans(higher, lower)])];
}

function madeFacts({ period, owner, locale, correction }: Pack, dataset: PackDataset, options: PackDataOptions) {
  const { run, digest, madeAt, logoLeftOut } = options;
  const { workbook: words } = messagesFor(locale);
  return [
    { label: words.run.report, text: `${dataset.org}/${dataset.report}` },
    { label: words.run.made, text: formatZonedInstant(new Date(madeAt), period.timezone, locale) },
    { label: words.run.run, text: run },
    ...(correction === undefined ? [] : [{ label: correction.runLabel, text: correction.run }]),
    { label: words.run.definition, text: `SHA-256 ${digest}` },
    { label: words.run.registry, text: words.run.version(dataset.registryVersion) },
    { label: words.run.calls, text: words.run.callCount(dataset.calls.length) },
    { label: words.summary.owner, text: owner },
    ...(logoLeftOut === undefined ? [] : [{ label: words.summary.logo, text: words.run.leftOut(logoLeftOut) }]),
  ];
}
