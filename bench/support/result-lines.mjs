/** Of the lines of several runs, those of each benchmark's last run. A `machine` line ends a run. */
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
