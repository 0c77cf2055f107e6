import { addressKey } from '../../definitions/allow-lists/recipients.ts';
import { locate, type SourceFile } from '../../definitions/yaml/source-file.ts';
import type { RecipientRequest } from './recipients.ts';

/** The line of a definition that names the recipients. Somebody who corrected a run must fix it for later runs. */
export interface RecipientLine {
  /** `file:line`. */
  readonly at: string;
  /** The current text of the line. */
  readonly text: string;
}

/**
 * Where to fix the report's recipients: the line with the replaced address, otherwise the delivery's recipients.
 * Changes nothing. Undefined if this machine does not have the file.
 */
export function recipientLine(
  source: SourceFile | undefined,
  { replaces }: Pick<RecipientRequest, 'replaces'>,
  target: string,
): RecipientLine | undefined {
  if (source === undefined) return undefined;
  const lines = source.text.split('\n');
  const key = replaces === undefined ? undefined : addressKey(replaces);
  const named =
    key === undefined ? -1 : lines.findIndex((line) => wordsOf(line).some((word) => addressKey(word) === key));
  const index = Number.parseInt(target, 10);
  const to = locate(source, ['deliveries', index, 'email', 'to'], 'key');
  const number = named < 0 ? to.line : named + 1;
  return { at: `${source.file}:${number}`, text: (lines[number - 1] ?? '').trim() };
}

const wordsOf = (line: string): readonly string[] => line.split(/[\s,"'[\]{}]+/).filter((word) => word.includes('@'));
