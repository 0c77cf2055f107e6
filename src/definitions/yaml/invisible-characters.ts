import { INVISIBLE } from '../../base/text/bidi.ts';
import type { Diagnostic } from '../diagnostics/diagnostic.ts';

/** Spaces that look like a plain one and are none for YAML. */
const SPACES = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g;
/** Characters without a shape, joiners included. */
const SHAPELESS = new RegExp(`${INVISIBLE.source}|[\\u200c\\u200d]`, 'g');
const ANY = new RegExp(`${SPACES.source}|${SHAPELESS.source}`, 'g');

const NAMES: Readonly<Record<string, string>> = {
  '\u00a0': 'a no-break space',
  '\u202f': 'a narrow no-break space',
  '\u3000': 'an ideographic space',
  '\u200b': 'a zero-width space',
  '\ufeff': 'a byte order mark',
  '\u00ad': 'a soft hyphen',
};

/** Lines that are tried one by one; further ones count as mistakes. */
const MAX_LINES = 50;

interface Diagnosed {
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Names the invisible characters that errors of a file come from. Texts may have them, so that a line counts only if the file
 * has fewer errors with plain spaces there.
 *
 * @param parse reads a text of the file
 * @returns the result for the corrected text, with a diagnostic for each such line; undefined where none is to blame
 */
export function correctInvisible<Parsed extends Diagnosed>(
  file: string,
  text: string,
  faulty: Parsed,
  parse: (text: string) => Parsed,
): { readonly parsed: Parsed; readonly diagnostics: readonly Diagnostic[] } | undefined {
  if (text.search(ANY) === -1) return undefined;
  const lines = text.split('\n');
  const corrected = lines.map((line) => line.replace(SPACES, ' ').replace(SHAPELESS, ''));
  let parsed = parse(corrected.join('\n'));
  if (parsed.diagnostics.length >= faulty.diagnostics.length) return undefined;
  const changed = lines.flatMap((line, index) => (line === corrected[index] ? [] : [index]));
  for (const index of changed.slice(0, MAX_LINES)) {
    const plain = corrected[index] ?? '';
    corrected[index] = lines[index] ?? '';
    const without = parse(corrected.join('\n'));
    if (without.diagnostics.length <= parsed.diagnostics.length) parsed = without;
    else corrected[index] = plain;
  }
  const mistakes = changed.filter((index) => lines[index] !== corrected[index]);
  return { parsed, diagnostics: mistakes.map((index) => diagnosticOf(file, lines[index] ?? '', index)) };
}

function diagnosticOf(file: string, line: string, index: number): Diagnostic {
  const column = line.search(ANY);
  const character = line[column] ?? '';
  const isSpace = character.search(SPACES) === 0;
  const name = NAMES[character] ?? (isSpace ? 'an unusual space' : 'an invisible character');
  const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  const more = (line.match(ANY)?.length ?? 1) - 1;
  return {
    file,
    line: index + 1,
    column: column + 1,
    code: 'yaml.invisible_character',
    message: name,
    expected: isSpace ? 'a plain space' : 'visible characters',
    got: `${name} (U+${code})${more === 0 ? '' : `, and ${more} more in this line`}`,
    next: isSpace ? 'write plain spaces' : 'delete it',
    end: { line: index + 1, column: column + 2 },
  };
}
