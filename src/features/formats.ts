import type { Format } from '../render/formats/format.ts';
import { FORMATS as BUILT_IN } from '../render/formats/registry.ts';
import { xlsxWithTemplates } from './workbook-template/xlsx-with-templates.ts';

/**
 * Output formats of features; each replaces the built-in one with its name. Threads load this list, but no other part of a
 * feature.
 */
const OF_FEATURES: readonly Format[] = [xlsxWithTemplates];

/** All output formats. */
export const FORMATS: readonly Format[] = BUILT_IN.map(
  (built) => OF_FEATURES.find(({ format }) => format === built.format) ?? built,
);
