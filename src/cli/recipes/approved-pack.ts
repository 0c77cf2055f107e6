import { BOARD_PACK } from './board-pack.ts';
import type { Recipe } from './recipe.ts';

/** The board pack, which waits for a comment and an approval. */
export const APPROVED_PACK: Recipe = {
  ...BOARD_PACK,
  name: 'approved-pack',
  summary: 'the board pack, sent when it is commented and approved',
  sections: BOARD_PACK.sections.map((section, index) => (index === 0 ? { ...section, commented: true } : section)),
  approved: true,
};
