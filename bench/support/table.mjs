const HEAD = ['bench', 'case', 'figure', 'ours', 'best peer', '', 'ours ÷ peer', 'limit', 'to the limit'];

/**
 * One row for each figure of ours that has a limit, or for the first figure where none has. Of repeated results the
 * worst counts. Beside it the best of the peers on the same case, best by the same figure.
 */
export function rowsOf(lines) {
  const ours = lines.filter(({ who }) => who === 'docket');
  const cases = [...new Set(ours.map((line) => line.case))];
  return cases.flatMap((name) => {
    const own = ours.filter((line) => line.case === name);
    const peers = lines.filter((line) => line.case === name && line.who !== 'docket');
    const [first] = own;
    const limited = Object.keys(first.limit);
    const figures = limited.length > 0 ? limited : Object.keys(first).slice(3, 4);
    return figures.map((figure) => rowOf(first, figure, worst(own, figure), bestOf(peers, figure)));
  });
}

const worst = (lines, figure) => Math.max(...lines.map((line) => line[figure]));

/** A peer that measured several times counts by its worst, as we do. */
function bestOf(peers, figure) {
  return [...new Set(peers.map(({ who }) => who))]
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

function rowOf({ bench, case: name, limit }, figure, value, peer) {
  const most = limit[figure];
  const ratio = peer === undefined || peer.value === 0 ? '–' : (value / peer.value).toFixed(2);
  return [
    bench,
    name,
    figure,
    String(value),
    peer === undefined ? '–' : String(peer.value),
    peer?.who ?? '',
    ratio,
    most === undefined ? '–' : String(most),
    distance(value, most),
  ];
}

function distance(value, most) {
  if (most === undefined) return '–';
  if (value > most) return 'MISSED';
  return most === 0 ? 'kept' : `${(((most - value) / most) * 100).toFixed(1)} %`;
}

/** Rows as a table of text. */
export function formatTable(rows) {
  const all = [HEAD, ...rows];
  const widths = HEAD.map((_, column) => Math.max(...all.map((row) => row[column].length)));
  const format = (row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd();
  return [format(HEAD), widths.map((width) => '─'.repeat(width)).join('  '), ...rows.map(format)].join('\n');
}
