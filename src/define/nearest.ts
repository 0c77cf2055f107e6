/** Edits (insert, drop, replace, swap neighbours) that make one text of the other. */
function distance(a: string, b: string): number {
  let before: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      if (a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, (before[column - 2] ?? Number.POSITIVE_INFINITY) + 1);
      }
      current.push(cost);
    }
    before = last;
    last = current;
  }
  return last[b.length] ?? 0;
}

/** Longer texts are no typing mistakes, and comparing them would take quadratic time. */
const LONGEST = 80;

/** The names a person may have meant, the nearest first; empty when none is near. */
export function nearest(name: string, known: Iterable<string>, most = 1): string[] {
  if (name.length > LONGEST) return [];
  const written = name.toLowerCase();
  const allowed = Math.max(1, Math.floor(name.length / 3));
  return [...known]
    .map((candidate) => ({ candidate, edits: distance(written, candidate.toLowerCase()) }))
    .filter(({ edits }) => edits <= allowed)
    .sort((a, b) => a.edits - b.edits)
    .slice(0, most)
    .map(({ candidate }) => candidate);
}

/** `did you mean "week"?` for the end of a fault; undefined when nothing is near. */
export function didYouMean(name: string, known: Iterable<string>): string | undefined {
  const [near] = nearest(name, known);
  return near === undefined ? undefined : `did you mean "${near}"?`;
}
