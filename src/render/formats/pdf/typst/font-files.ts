import { createRequire } from 'node:module';

/** Fonts for every pack: Latin, Greek, Cyrillic and Hebrew; Arabic. No system font is used. */
const FONTS = [
  '@expo-google-fonts/arimo/400Regular/Arimo_400Regular.ttf',
  '@expo-google-fonts/arimo/400Regular_Italic/Arimo_400Regular_Italic.ttf',
  '@expo-google-fonts/arimo/700Bold/Arimo_700Bold.ttf',
  '@expo-google-fonts/noto-sans-arabic/400Regular/NotoSansArabic_400Regular.ttf',
  '@expo-google-fonts/noto-sans-arabic/700Bold/NotoSansArabic_700Bold.ttf',
] as const;

/** Paths of these fonts on disk. */
export function fontFiles(): readonly string[] {
  const { resolve } = createRequire(import.meta.url);
  return FONTS.map((font) => resolve(font));
}
