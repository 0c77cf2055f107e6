import type { ListedFeature } from '../cli/io.ts';
import { initOption } from './workbook-template/init-option.ts';

/** All features. What they add is in this order. `docket --help` loads the list, so an entry imports its feature on use. */
export const FEATURES: readonly ListedFeature[] = [
  { load: async () => (await import('./accounts/accounts.ts')).accounts },
  { load: async () => (await import('./search/search.ts')).search },
  { load: async () => (await import('./workbook-template/workbook-template.ts')).workbookTemplate, init: initOption },
];
