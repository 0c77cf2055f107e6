import type { Format } from '../render/formats/format.ts';
import { FORMATS as BUILT_IN } from '../render/formats/registry.ts';
import { xlsxWithTemplates } from './workbook-template/xlsx-with-templates.ts';

/** Output formats of features. Threads load this list, but nothing else of a feature. */
const OF_FEATURES: readonly Format[] = [xlsxWithTemplates];

/** The built-in formats, replaced by a feature's format of the same name, then the features' new formats. */
export const mergeFormats = (features: readonly Format[]): readonly Format[] => [
  ...new Map([...BUILT_IN, ...features].map((each) => [each.format, each])).values(),
];

/** All output formats. */
export const FORMATS = mergeFormats(OF_FEATURES);
