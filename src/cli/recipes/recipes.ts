import { BACKLOG } from './backlog.ts';
import { APPROVED_PACK, BOARD_PACK } from './board-pack.ts';
import { EXPORT } from './export.ts';
import type { Recipe, RecipeName } from './recipe.ts';
import { WEEKLY_KPI } from './weekly-kpi.ts';

export const RECIPES: Readonly<Record<RecipeName, Recipe>> = {
  'weekly-kpi': WEEKLY_KPI,
  'board-pack': BOARD_PACK,
  'approved-pack': APPROVED_PACK,
  backlog: BACKLOG,
  export: EXPORT,
};
