import type { Granularity } from '../../contract/report.ts';
import { englishCounter, type LocaleFormatters } from '../formatters.ts';
import type { ComparedWith } from '../note.ts';
import { COMPARED_WITH } from './comparisons.ts';

/** Texts in the workbook outside of tables. */
export const workbook = (to: LocaleFormatters) => {
  const counted = englishCounter(to);
  return {
    sheets: {
      summary: 'Summary',
      contents: 'Contents',
      charts: 'Charts',
      chartData: 'Chart data',
      definitions: 'Definitions',
      run: 'Run',
      longTexts: 'Long texts',
      /** The name of a section's sheet if no character of its title is allowed there. */
      unnamed: 'Sheet',
    },
    back: '← Contents',
    backToSummary: '← Summary',
    /** @param page an Excel code, like `pages` */
    page: (page: string, pages: string) => `Page ${page} of ${pages}`,
    part: (title: string, part: number, parts: number) => `${title} (part ${part} of ${parts})`,
    complete: 'Complete: the service answered every section in full.',
    /** @param sections titles of sections with undefined current counts */
    completeBut: (sections: readonly string[]) =>
      `Complete, except that current counts are undefined in ${to.all(sections)}.`,
    /** @param sections like in `completeBut` */
    completeSoFar: (asOf: string | undefined, sections: readonly string[]) =>
      `Complete so far${asOf === undefined ? '' : `, as of ${asOf}`}${
        sections.length === 0 ? '' : `, except that current counts are undefined in ${to.all(sections)}`
      }.`,
    incomplete: (count: number) => `Incomplete: ${counted(count, 'thing')} to know before you use these figures`,

    summary: {
      logo: 'Logo',
      logoOf: (organization: string) => `Logo of ${organization}`,
      owner: 'Owner',
      /** The heading of the scorecard if no section of the report is one. */
      figures: 'Key figures',
    },
    contents: {
      section: 'Section',
      covers: 'Covers',
      rows: 'Rows',
      toKnow: 'To know',
      current: 'Current counts',
      list: 'List',
      text: 'Text',
      whole: 'Whole period',
      lastDay: 'Its last day',
      by: { day: 'By day', week: 'By week', month: 'By month' } satisfies Record<Granularity, string>,
      summary: 'The most important figures',
      charts: 'The charts of the sections',
      definitions: 'What each figure means',
      run: 'How this pack was made',
      chartData: 'The figures that the charts draw',
      longTexts: 'The texts that are longer than a cell can be',
      /** @param summed titles of sections with sums over several calls */
      untouched: (summed: readonly string[], compared: boolean) =>
        [
          summed.length === 0
            ? 'Every figure is as the service computed it; nothing is added up here.'
            : `Every figure is as the service computed it, except in ${to.all(summed)}: figures or totals there are sums of several calls, as the section says.`,
          ...(compared ? ['Changes are computed here from these figures.'] : []),
        ].join(' '),
    },
    section: {
      metric: 'Metric',
      value: 'Value',
      /** @param kind undefined if the previous period is the only comparison */
      change: (kind: ComparedWith | undefined) => (kind === undefined ? 'Change' : `Change (${COMPARED_WITH[kind]})`),
      trend: 'Trend',
      noRows: 'No rows: the service has nothing for this section.',
      /** @param next the sheet with the next rows; undefined on the last sheet */
      rows: (from: number, last: number, all: number, next: string | undefined) =>
        `Rows ${to.number(from)} to ${to.number(last)} of ${to.number(all)}${next === undefined ? '.' : `; they go on in “${next}”.`}`,
      arrowsMean: '▲ in blue is more than before, ▼ in orange is less; neither says whether that is good.',
    },
    charts: {
      bucket: 'Period',
      figures: (section: string) => `Figures: ${section}`,
      data: 'What the charts draw, as in the sections. An empty cell is undefined: the chart has a gap there, not a zero.',
    },
    definitions: {
      metrics: 'Metrics',
      metric: 'Metric',
      id: 'Name at the service',
      description: 'Description',
      unit: 'Unit',
      aggregation: 'Aggregation',
      toKnow: 'To know',
      sections: 'Sections',
      groups: 'Groups and fields',
      name: 'Name',
      type: 'Type',
      values: 'Values',
      /** @param note a note that applies to every metric */
      ofAll: (note: string) => `All of them: ${note}`,
      filters: 'Filters',
      count: 'count',
      ratio: 'ratio from 0 to 1, shown as %',
      /** @param unit the unit in which it is shown */
      duration: (unit: string | undefined) => (unit === undefined ? 'a duration' : `a duration, in ${unit}`),
      otherUnit: (unit: string) => `${unit} (as the service names it)`,
      countsNow: 'A current count: the state at the time of the call.',
      countsAt: (when: string) => `Counts at: ${when}.`,
      casesUnknown: 'Number of cases unknown.',
      casesAtMost: (count: string) => `Of at most as many cases as ${count}.`,
      availableFrom: (day: string) => `Available from ${day}; earlier figures are undefined and not compared.`,
      deprecated: 'Deprecated.',
      replacedBy: (id: string) => `Deprecated: replaced by ${id}.`,
    },
    run: {
      report: 'Report',
      run: 'Run',
      definition: 'Definition',
      period: 'Period',
      made: 'Made',
      registry: 'Metric registry',
      version: (version: number) => `version ${version}`,
      calls: 'Calls',
      callCount: (count: number) => counted(count, 'call'),
      /** @param why the name of the file, and what is wrong with it */
      leftOut: (why: string) => `left out: ${why}`,
      call: 'Call',
      request: 'Request',
      sections: 'Sections',
      asOf: 'As of',
      cached: 'Cached',
      correlation: 'Correlation id',
      rows: (count: number) => counted(count, 'row'),
      shared: (run: string, at: string) => `, asked by run ${run}, answered ${at}`,
      saved: ', kept from an earlier try of this run',
      incomplete: 'Incomplete',
      nothing: 'Nothing: the service answered every section in full.',
    },
    longTexts: {
      what: 'Texts that are longer than a cell can be. Put the parts of a number together and you have the whole.',
      number: 'No.',
      sheet: 'Sheet',
      cell: 'Cell',
      part: 'Part',
      text: 'Text',
      partOf: (part: number, parts: number) => `${part} of ${parts}`,
      goesOn: (beginning: string, sheet: string, number: number) =>
        `${beginning} … [goes on: see “${sheet}”, no. ${number}]`,
    },
  };
};
