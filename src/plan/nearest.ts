import { closestMatch } from 'leven';

/** The known word that a person most likely meant, or undefined when none is near (a third of its letters off, at most). */
export const nearest = (word: string, known: readonly string[]): string | undefined =>
  closestMatch(word, known, { maxDistance: Math.max(1, Math.floor(word.length / 3)) });
