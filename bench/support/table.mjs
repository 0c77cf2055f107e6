const NONE = '–';
export const MISSED = 'MISSED';

/**
 * One row for each of Docket's figures with a limit (or with null in `limit`, to be compared with the peers'), or for
 * the first figure if none has one. Of repeated results the worst counts. Beside it the best peer for the same case and
 * figure.
 */
export function comparison(lines) {
  const ours = lines.filter(({ who, points }) => who === 'docket' && points === undefined);
  const cases = unique(ours.map((line) => JSON.stringify([line.bench, line.case])));
  const rows = cases.flatMap((key) => {
    const same = lines.filter((line) => key === JSON.stringify([line.bench, line.case]));
    const own = same.filter(({ who }) => who === 'docket');
    const peers = same.filter(({ who }) => who !== 'docket');
    if (own[0].absent !== undefined) return [rowOf(own[0], `not measured: ${own[0].absent}`)];
    const limits = Object.assign({}, ...own.map(({ limit }) => limit));
    const limited = Object.keys(limits);
    const figures = limited.length > 0 ? limited : figuresOf(own[0]).slice(0, 1);
    return figures.map((figure) => rowOf(own[0], figure, limits[figure], worst(own, figure), bestOf(peers, figure)));
  });
  return {
    head: ['bench', 'case', 'figure', 'ours', 'best peer', '', 'ours ÷ peer', 'limit', 'to the limit'],
    rows,
  };
}

/** The numeric figures of a line, in their order. */
const figuresOf = ({ limit: _, ...figures }) =>
  Object.keys(figures).filter((figure) => typeof figures[figure] === 'number');

const unique = (values) => [...new Set(values)];

const worst = (lines, figure) => Math.max(...lines.flatMap((line) => line[figure] ?? []));

/** The best peer. Of several measurements of a peer the worst counts, as for Docket. */
function bestOf(peers, figure) {
  return unique(peers.map(({ who }) => who))
    .map((who) => ({
      who,
      value: worst(
        peers.filter((line) => line.who === who),
        figure,
      ),
    }))
    .filter(({ value }) => Number.isFinite(value))
    .sort((a, b) => a.value - b.value)[0];
}

function rowOf({ bench, case: name }, figure, most, value, peer) {
  return [
    bench,
    name,
    figure,
    numeral(value),
    numeral(peer?.value),
    peer?.who ?? '',
    peer === undefined || peer.value === 0 ? NONE : (value / peer.value).toFixed(2),
    numeral(most ?? undefined),
    distance(value, most ?? undefined),
  ];
}

function distance(value, most) {
  if (most === undefined) return NONE;
  if (value > most) return MISSED;
  return most === 0 ? 'kept' : `${(((most - value) / most) * 100).toFixed(1)} %`;
}

export const numeral = (value) => (typeof value === 'number' ? value.toLocaleString('en') : (value ?? NONE));

/**
 * A table for each kind of growth: the cost of each size, the cost per item of the largest, and the exponent of the
 * last step.
 */
export function growthTables(lines) {
  const growing = lines.filter(({ points }) => points !== undefined);
  return unique(growing.map(({ by }) => by)).map((by) => growthTable(growing, by));
}

export function growthTable(lines, by) {
  const growing = lines.filter((line) => line.points !== undefined && line.by === by);
  const sizes = unique(growing.flatMap(({ points }) => points.map(({ n }) => n))).sort((a, b) => a - b);
  return {
    head: ['bench', `cost with ${by}`, '', 'unit', ...sizes.map(numeral), 'each', 'exponent', 'limit', 'to the limit'],
    rows: growing.map(({ bench, case: name, who, unit, points, exponent, limit }) => {
      const { n, cost } = points.at(-1);
      return [
        bench,
        name,
        who,
        unit,
        ...sizes.map((size) => numeral(points.find((point) => point.n === size)?.cost)),
        // If the total should stay the same, a cost per item means nothing.
        limit.exponent < 1 ? NONE : numeral(Number((cost / n).toPrecision(2))),
        numeral(exponent),
        numeral(limit.exponent),
        distance(exponent, limit.exponent),
      ];
    }),
  };
}

/** A table as text. */
export function formatTable({ head, rows }) {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column].length)));
  const format = (row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd();
  return [format(head), widths.map((width) => '─'.repeat(width)).join('  '), ...rows.map(format)].join('\n');
}

/** A table as Markdown. */
export function formatMarkdown({ head, rows }) {
  const format = (row) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [format(head), `|${head.map(() => '---|').join('')}`, ...rows.map(format)].join('\n');
}
