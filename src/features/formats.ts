import type { Format } from '../render/formats/format.ts';
import { FORMATS as BUILT_IN } from '../render/formats/registry.ts';
import { xlsxWithTemplates } from './workbook-template/xlsx-with-templates.ts';

/** The output formats of features. Threads load this list, but no other part of a feature. */
const OF_FEATURES: readonly Format[] = [xlsxWithTemplates];

/** All output formats. One of a feature stands in the place of the one with its name. */
export const FORMATS: readonly Format[] = BUILT_IN.map(
  (built) => OF_FEATURES.find(({ format }) => format === built.format) ?? built,
);
