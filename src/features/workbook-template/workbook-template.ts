import type { Feature } from '../../compose/feature.ts';

/** Workbooks of the organization that a report fills. The output format is in the list of formats. */
export const workbookTemplate: Feature = {
  name: 'workbook-template',
  admin: async () => {
    const { panels } = await import('./page/panels.tsx');
    return () => ({ panels });
  },
};
