/** The lines of each bench's last run, of lines that several runs have put one after the other: its `machine` line ends a run. */
export function lastRuns(lines) {
  const last = new Map();
  let current = [];
  for (const line of lines) {
    current.push(line);
    if (line.who !== 'machine') continue;
    last.set(line.bench, current);
    current = [];
  }
  return [...last.values()].flat();
}
