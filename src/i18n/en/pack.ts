import type { Granularity } from '../../contract/report.ts';
import { englishCounter, type LocaleFormatters } from '../formatters.ts';

/** Texts of the summary, scorecards, trends and exceptions, in every format. */
export const pack = (to: LocaleFormatters) => {
  const counted = englishCounter(to);
  return {
    summary: 'Summary',
    trends: 'Trends',
    exceptions: 'Exceptions',
    appendix: 'Appendix',
    definitions: 'Definitions',
    howMade: 'How this was made',
    scorecard: {
      metric: 'Metric',
      /** Used if the period has no short name. */
      figure: 'This period',
      now: 'Now',
      target: 'Target',
      status: 'Status',
      /** @param granularity undefined if rows differ */
      trend: (count: number, granularity: Granularity | undefined) =>
        granularity === undefined ? 'Trend' : `Last ${counted(count, granularity)}`,
    },
    /** Subheading of a metric's own figures, beside the figures that they are compared with. */
    value: 'Value',
    change: 'Change',
    /**
     * A small chart in words.
     * @param points label and value of the first and the last point with a value
     */
    trendText: (
      label: string,
      first: { readonly label: string; readonly text: string },
      last: { readonly label: string; readonly text: string },
    ) => `${label}: from ${first.text} (${first.label}) to ${last.text} (${last.label})`,
    trendOne: (label: string, { label: at, text }: { readonly label: string; readonly text: string }) =>
      `${label}: ${text} (${at})`,
    trendNone: (label: string) => `${label}: no figures`,
    /** Shown below trends with partial buckets. */
    hatchedMeans: 'Hatched: the figure is of a part of its time, or of a time that is still running.',
    targetLineMeans: 'Dashed line: the target.',
    bandMeans: 'Grey band: the usual range of the last figure, from the twelve before it.',
    gapsMean: 'A gap means that there is no figure. It is not zero.',
    target: 'Target',
    /**
     * Shown below exceptions that are breached or on watch.
     * @param of the number of all rows
     */
    rowsBehind: (shown: number, behind: number, of: number, notJudged: number) => {
      const left = notJudged === 0 ? '' : ` ${to.number(notJudged)} not judged.`;
      if (shown < behind)
        return `The worst ${to.number(shown)} of ${counted(behind, 'row')} behind their target; ${counted(of, 'row')} in all.${left}`;
      return behind === 1
        ? `1 of ${counted(of, 'row')} is behind its target.${left}`
        : `${to.number(behind)} of ${counted(of, 'row')} are behind their target, worst first.${left}`;
    },
    nothingBehind: (notJudged: number) =>
      `Nothing is behind its target${notJudged === 0 ? '' : `, ${to.number(notJudged)} not judged`}.`,
    noTargetApplies: 'No target applies to these rows.',
    worstRows: (shown: number, judged: number) => `The worst ${to.number(shown)} of ${counted(judged, 'judged row')}.`,
    noText: 'There is no commentary.',
  };
};

/** Where all rows can be found, by output format. */
const FILES = { xlsx: 'the workbook', csv: 'the CSV files' } as const;

/** Texts that only the PDF has. */
export const pdf = (to: LocaleFormatters) => {
  const counted = englishCounter(to);
  /** @param formats formats of the report's outputs */
  const allRows = (formats: readonly string[]): string => {
    const files = Object.entries(FILES).flatMap(([format, name]) => (formats.includes(format) ? [name] : []));
    return files.length === 0 ? '' : `All rows are in ${files.join(' and ')}.`;
  };
  return {
    /** Shown beside the first rows; empty if no file has the others. */
    allRows,
    /**
     * Shown below the table if rows are left out.
     * @param formats formats of the report's outputs
     */
    firstRows: (shown: number, all: number, formats: readonly string[]) => {
      const first = shown === 0 ? 'None' : `The first ${to.number(shown)}`;
      return `${first} of ${counted(all, 'row')}: a PDF has no room for more. ${allRows(formats)}`.trim();
    },
    /** Shown on each page on which a section continues. */
    continued: (title: string) => `${title} (continued)`,
    /** About characters that no font of the PDF has. */
    unknownCharacters:
      'Some names have characters that the fonts of this PDF lack. Each is shown as □; the other files have them in full.',
  };
};
