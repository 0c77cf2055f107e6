import type { ListedFeature } from '../cli/io.ts';
import { initOption } from './workbook-template/init-option.ts';

/**
 * All features, in the order in which their additions appear. `docket --help` loads this list, so each entry imports
 * its feature only when it is used.
 */
export const FEATURES: readonly ListedFeature[] = [
  { load: async () => (await import('./accounts/accounts.ts')).accounts },
  { load: async () => (await import('./search/search.ts')).search },
  { load: async () => (await import('./workbook-template/workbook-template.ts')).workbookTemplate, init: initOption },
];
