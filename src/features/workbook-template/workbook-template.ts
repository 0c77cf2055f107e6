import type { Feature } from '../../compose/feature.ts';

/** Reports can fill workbooks of the organization. The output format itself is in the list of formats. */
export const workbookTemplate: Feature = {
  name: 'workbook-template',
  admin: async () => {
    const { panels } = await import('./page/panels.tsx');
    return () => ({ panels });
  },
};
