import { comparison, formatMarkdown, growthTable, growthTables, MISSED, numeral } from './table.mjs';

const MARKED = /(<!-- bench: (.+?) -->\n)[\s\S]*?(<!-- end -->)/g;

/**
 * Generates the tables between the marks of a page again. Tables without new measurements stay unchanged.
 *
 *     <!-- bench: limits -->                     every figure with a limit, and the best peer's
 *     <!-- bench: missed -->                     those that exceed it
 *     <!-- bench: growth rows -->                how cost grows with rows
 *     <!-- bench: machine -->                    what the benchmarks ran on, and for how long
 *     <!-- bench: of budget throttled ratio -->  these figures of each case and client of one benchmark
 *     <!-- end -->
 */
export const fillPage = (page, lines) =>
  page.replace(MARKED, (whole, begin, what, end) => {
    const [kind, ...words] = what.split(' ');
    if (!Object.hasOwn(TABLES, kind)) throw new Error(`no table ${kind}; there are ${Object.keys(TABLES).join(', ')}`);
    const table = TABLES[kind](lines, ...words);
    return table.rows.length === 0 ? whole : `${begin}${formatMarkdown(table)}\n${end}`;
  });

const TABLES = {
  limits: (lines) => ({ head: HEAD, rows: limitRows(lines) }),
  missed: (lines) => {
    const growing = growthTables(lines).flatMap(({ rows }) => rows);
    const rows = [
      ...limitRows(lines).filter((row) => row.at(-1) === MISSED),
      // The growth of a peer is not reported as missed.
      ...growing
        .filter((row) => row.at(-1) === MISSED && row[2] === 'docket')
        .map((row) => [row[0], row[1], 'exponent', bold(row.at(-3)), '–', '–', row.at(-2), MISSED]),
    ];
    return {
      head: HEAD,
      rows: lines.length > 0 && rows.length === 0 ? [['nothing', ...HEAD.slice(1).map(() => '')]] : rows,
    };
  },
  growth: growthTable,
  machine: (lines) => ({
    head: ['bench', 'began', 'minutes', 'cores that others took', 'load before', 'Node'],
    rows: totalled(lines.filter(({ who }) => who === 'machine')).map((line) => [
      `${line.bench}${line.quick ? ' (quick)' : ''}`,
      line.began?.slice(0, 16).replace('T', ' ') ?? '',
      (line.seconds / 60).toFixed(1),
      numeral(line.others_cores),
      numeral(line.load_before),
      line.node ?? '',
    ]),
  }),
  of: (lines, bench, ...figures) => ({
    head: ['case', 'who', ...figures.map((figure) => figure.replaceAll('_', ' '))],
    rows: lines
      .filter((line) => line.bench === bench && figures.some((figure) => line[figure] !== undefined))
      .map((line) => [
        line.case,
        line.who === 'docket' ? bold('Docket') : line.who,
        ...figures.map((figure) => (line.who === 'docket' ? bold(numeral(line[figure])) : numeral(line[figure]))),
      ]),
  }),
};

const totalled = (runs) =>
  runs.length === 0 ? [] : [...runs, { bench: 'all', seconds: runs.reduce((sum, { seconds }) => sum + seconds, 0) }];

const HEAD = ['bench', 'case', 'figure', 'ours', 'best peer', 'ours ÷ peer', 'limit', 'to the limit'];

/** The comparison of figures with a limit, including the name of the best peer. */
const limitRows = (lines) =>
  comparison(lines)
    .rows.filter(([, , , , , , , limit]) => limit !== '–')
    .map(([bench, name, figure, ours, value, peer, ...rest]) => [
      bench,
      name,
      figure,
      bold(ours),
      peer === '' ? value : `${value} (${peer})`,
      ...rest,
    ]);

const bold = (text) => (text === '–' ? text : `**${text}**`);
