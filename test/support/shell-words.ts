/**
 * The command of an example as a shell would hand it over: variables before it, a pipe, a redirection and what follows two spaces
 * (a word on what it does) left out.
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
