/** Shown for a character without a glyph. PDF/UA forbids glyphs without a meaning. */
const REPLACEMENT = '□';

/** Spaces, line breaks, joiners and direction controls need no glyph. */
const NEEDS_NO_GLYPH = /\s|\p{Default_Ignorable_Code_Point}/u;
/**
 * Characters that no font can show: control characters, unpaired surrogates, unassigned code points. PDF/UA forbids
 * them.
 */
const UNPRINTABLE = /[^\P{Cc}\s]|[\p{Cs}\p{Cn}\p{Co}\ufeff]/u;

/** Inclusive ranges of code points that a TrueType font has glyphs for, from its `cmap` table (formats 4 and 12). */
function glyphRanges(font: Buffer): readonly (readonly [number, number])[] {
  const tables = font.readUInt16BE(4);
  for (let index = 0; index < tables; index += 1) {
    const entry = 12 + 16 * index;
    if (font.toString('latin1', entry, entry + 4) === 'cmap') return cmapRanges(font, font.readUInt32BE(entry + 8));
  }
  return [];
}

function cmapRanges(font: Buffer, cmap: number): readonly (readonly [number, number])[] {
  const subtables = Array.from({ length: font.readUInt16BE(cmap + 2) }, (_, index) => {
    const at = cmap + font.readUInt32BE(cmap + 4 + 8 * index + 4);
    return { at, format: font.readUInt16BE(at) };
  });
  const full = subtables.find(({ format }) => format === 12);
  if (full !== undefined) {
    return Array.from({ length: font.readUInt32BE(full.at + 12) }, (_, index) => {
      const group = full.at + 16 + 12 * index;
      return [font.readUInt32BE(group), font.readUInt32BE(group + 4)] as const;
    });
  }
  const basic = subtables.find(({ format }) => format === 4);
  if (basic === undefined) return [];
  const segments = font.readUInt16BE(basic.at + 6) / 2;
  const ends = basic.at + 14;
  const starts = ends + 2 * segments + 2;
  return Array.from(
    { length: segments },
    (_, index) => [font.readUInt16BE(starts + 2 * index), font.readUInt16BE(ends + 2 * index)] as const,
    // The last segment is always 0xFFFF, which is not a character.
  ).filter(([start]) => start !== 0xffff);
}

/** Creates a check whether any of the fonts has a glyph for a character. */
export function glyphCoverage(fonts: readonly Buffer[]): (character: string) => boolean {
  const ranges = fonts.flatMap(glyphRanges).sort(([one], [other]) => one - other);
  const known = new Map<string, boolean>();
  return (character) => {
    const before = known.get(character);
    if (before !== undefined) return before;
    const code = character.codePointAt(0) ?? 0;
    const found = NEEDS_NO_GLYPH.test(character) || ranges.some(([from, to]) => from <= code && code <= to);
    known.set(character, found);
    return found;
  };
}

/** Whether every character of a text can be shown, with none replaced or left out. */
export const showsInFull = (text: string, covers: (character: string) => boolean): boolean =>
  [...text].every((character) => covers(character) && !UNPRINTABLE.test(character));

/**
 * Adapts the texts in data to the fonts: characters without a glyph become □, control characters are left out.
 * @param replaced called when a character was replaced
 */
export function displayable<Data>(
  data: Data,
  covers: (character: string) => boolean,
  replaced: () => void = () => {},
): Data {
  const text = (value: string): string => {
    let shown = '';
    for (const character of value) {
      if (UNPRINTABLE.test(character)) continue;
      if (covers(character)) shown += character;
      else {
        shown += REPLACEMENT;
        replaced();
      }
    }
    return shown;
  };
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, walk(entry)]));
  };
  // Only texts change, so the shape stays the same.
  return walk(data) as Data;
}
