/**
 * The same function, which remembers its last answers: for pure ones that take long and are asked the same again and
 * again. What it answers is shared, and must not be changed.
 *
 * @param make pure; what it throws is not remembered
 * @param most answers that are kept; the oldest goes first
 */
export function remembered<Args extends readonly unknown[], Answer>(
  make: (...args: Args) => Answer,
  most: number,
): (...args: Args) => Answer {
  const answers = new Map<string, Answer>();
  return (...args) => {
    const key = JSON.stringify(args);
    const known = answers.get(key);
    if (known !== undefined) return known;
    const answer = make(...args);
    answers.set(key, answer);
    const [oldest] = answers.size > most ? answers.keys() : [];
    if (oldest !== undefined) answers.delete(oldest);
    return answer;
  };
}
