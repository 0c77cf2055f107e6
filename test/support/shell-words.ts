/**
 * The words of an example command, as a shell would pass them. Drops variables before it, a pipe, a redirection, and an
 * explanation after two spaces.
 */
export function shellWords(example: string): string[] {
  const command = example
    .replace(/ {2,}\S.*$/, '')
    .replace(/ \|.*$/, '')
    .replace(/ > \S+$/, '');
  const words = [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  );
  return words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word)));
}
