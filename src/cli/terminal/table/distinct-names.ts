import { cellWidth, cutAround, graphemesOf, takeCells } from './cell-width.ts';

/**
 * Each name in at most so many cells, by name. Names that differ stay different: where two would be cut to the same text,
 * both show the place where they differ.
 *
 * @param cut how a name is cut that is too long
 */
export function shortenNames(
  names: readonly string[],
  width: number,
  cut: (name: string, width: number) => string,
): ReadonlyMap<string, string> {
  const shortened = new Map([...new Set(names)].map((name) => [name, cut(name, width)]));
  // A round tells at least one name of a group from the others.
  for (let round = 0; round < shortened.size; round += 1) {
    const clashes = clashesOf(shortened, width);
    if (clashes.length === 0) return shortened;
    for (const group of clashes) {
      const letters = group.map(graphemesOf);
      const from = firstDifference(letters);
      group.forEach((name, index) => {
        shortened.set(name, cutAround(letters[index] ?? [], from, width));
      });
    }
  }
  for (const group of clashesOf(shortened, width)) numberNames(group, shortened, width);
  return shortened;
}

/** Groups of cut names with the same text. A name that was not cut keeps its text. */
function clashesOf(shortened: ReadonlyMap<string, string>, width: number): readonly (readonly string[])[] {
  const groups = new Map<string, string[]>();
  for (const [name, text] of shortened) groups.set(text, [...(groups.get(text) ?? []), name]);
  return [...groups.values()]
    .filter((group) => group.length > 1)
    .map((group) => group.filter((name) => cellWidth(name) > width));
}

function firstDifference(names: readonly (readonly string[])[]): number {
  const [first = []] = names;
  const at = first.findIndex((letter, index) => names.some((name) => name[index] !== letter));
  return at === -1 ? first.length : at;
}

/** The last resort, in a column of a few cells: `acme~1`, `acme~2`. */
function numberNames(group: readonly string[], shortened: Map<string, string>, width: number): void {
  group.forEach((name, index) => {
    const suffix = `~${index + 1}`;
    shortened.set(name, takeCells(graphemesOf(shortened.get(name) ?? ''), width - suffix.length) + suffix);
  });
}
