import type { ReadingIndex } from '../../queue/schedules/reading-index.ts';
import { canSee, type Principal } from '../auth/tokens.ts';
import type { Access } from './access.ts';

export interface ReadingsPorts {
  readonly readings: Pick<ReadingIndex, 'list'>;
}

/** Recent readings of current counts. */
export const readingsAccess = ({ readings }: ReadingsPorts, principal: Principal): Pick<Access, 'readings'> => ({
  readings: async () => (await readings.list()).filter(({ org }) => canSee(principal, org)),
});
