/** The series in a text of Prometheus's format, by name and labels as written. Throws for an invalid line. */
export function seriesOf(text: string): ReadonlyMap<string, number> {
  const series = new Map<string, number>();
  const described = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [, about, of = ''] = /^# (HELP|TYPE) (\w+) ./.exec(line) ?? [];
    if (about !== undefined) {
      const known = described.get(of) ?? new Set();
      if (known.has(about)) throw new Error(`${about} of ${of} twice`);
      described.set(of, known.add(about));
      continue;
    }
    if (line === '') continue;
    const [, name = '', labels = '', value] = /^([a-z0-9_]+)(\{[^}]*\})? (\S+)$/.exec(line) ?? [];
    if (value === undefined) throw new Error(`no series: ${line}`);
    const family = name.replace(/_(bucket|sum|count)$/, '');
    if ((described.get(name) ?? described.get(family))?.size !== 2) throw new Error(`${name} has no HELP and TYPE`);
    if (series.has(name + labels)) throw new Error(`${name}${labels} twice`);
    series.set(name + labels, Number(value));
  }
  return series;
}
