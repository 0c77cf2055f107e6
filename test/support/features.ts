import type { AdminServices } from '../../src/admin/access/services.ts';
import type { AdminPart } from '../../src/admin/part.ts';
import { VARIABLE_NAMES } from '../../src/base/config/config.ts';
import { FEATURES } from '../../src/features/index.ts';

/** All features. */
export const features = await Promise.all(FEATURES.map(({ load }) => load()));
const parts = await Promise.all(features.flatMap(({ admin }) => admin?.() ?? []));

/** What all features add to the admin server with these services. */
export const partsOver = (services: AdminServices): readonly AdminPart[] => parts.map((open) => open(services));

/** All variables, including those of features. */
export const ALL_VARIABLE_NAMES: ReadonlySet<string> = new Set([
  ...VARIABLE_NAMES,
  ...features.flatMap(({ config }) => Object.keys(config?.variables ?? {})),
]);
