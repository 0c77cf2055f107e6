import type { ColumnTarget, NameTarget } from './bindings.ts';
import { figureSuffix } from './figure-names.ts';

/** The full header of a column: `profiles.created.previous_period (hours)`. */
export const columnText = ({ column, figure, as, unit }: ColumnTarget): string => {
  const name = `${column}${figure === undefined ? '' : figureSuffix(figure)}`;
  if (as === 'week') return `${name}.week`;
  if (as === 'utc') return `${name} (UTC)`;
  return unit === undefined ? name : `${name} (${unit})`;
};

/** The full defined name of a cell, with the ids of the definition: `onboarding.profiles.created`. */
export function nameText(target: NameTarget): string {
  switch (target.kind) {
    case 'text':
    case 'date':
      return target.of;
    case 'headline':
      return `headline.${target.number}`;
    case 'comment':
      return target.section === null ? 'comment' : `comment.${target.section}`;
    case 'notes':
      return `notes.${target.section}`;
    case 'figure':
      return `${target.section}.${columnText(target.target)}`;
  }
}
