/**
 * The names as they are where each is alone; those that several share as `otherwise` says, and numbered where even that
 * leaves two alike. Nobody could tell the lines of a chart apart by one name, and its drawers take them for one.
 */
export function distinctNames(
  names: readonly string[],
  otherwise: (name: string, index: number) => string,
): readonly string[] {
  const times = new Map<string, number>();
  for (const name of names) times.set(name, (times.get(name) ?? 0) + 1);
  const taken = new Set(names.filter((name) => times.get(name) === 1));
  return names.map((name, index) => {
    if (times.get(name) === 1) return name;
    const stem = otherwise(name, index);
    let own = stem;
    for (let count = 2; taken.has(own); count += 1) own = `${stem} (${count})`;
    taken.add(own);
    return own;
  });
}
