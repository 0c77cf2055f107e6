/**
 * A text of the service as one line of at most `most` characters: an answer is not ours to trust with the length of a log
 * line or with a terminal's control characters.
 */
export function clip(text: string, most = 500): string {
  const line = text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ');
  return line.length <= most ? line : `${line.slice(0, most)}…`;
}

/** Of a code or an id: none that is meant to be quoted is longer. */
export const clipName = (text: string): string => clip(text, 100);
