import type { Feature } from '../../compose/feature.ts';

/** Searches reports, runs and recipients from one field, in the API and in the header of each page. */
export const search: Feature = {
  name: 'search',
  admin: async () => (await import('./search-part.tsx')).searchPart,
};
