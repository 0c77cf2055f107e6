/** Damerau-Levenshtein distance (insert, delete, replace, swap neighbours). */
function editDistance(a: string, b: string): number {
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

/** Longer texts are not compared, because that takes quadratic time. */
const MAX_COMPARED_LENGTH = 80;

/** The closest matches by edit distance, the closest first. Empty if nothing is close. */
export function closestMatches(name: string, known: Iterable<string>, max = 1): string[] {
  if (name.length > MAX_COMPARED_LENGTH) return [];
  const written = name.toLowerCase();
  const allowed = Math.max(1, Math.floor(name.length / 3));
  return (
    [...known]
      // The distance is at least the difference of the lengths.
      .filter((candidate) => Math.abs(candidate.length - name.length) <= allowed)
      .map((candidate) => ({ candidate, edits: editDistance(written, candidate.toLowerCase()) }))
      .filter(({ edits }) => edits <= allowed)
      .sort((a, b) => a.edits - b.edits)
      .slice(0, max)
      .map(({ candidate }) => candidate)
  );
}

/** `did you mean "week"?` for the end of a diagnostic; undefined without a match. */
export function didYouMean(name: string, known: Iterable<string>): string | undefined {
  const [match] = closestMatches(name, known);
  return match === undefined ? undefined : `did you mean "${match}"?`;
}
