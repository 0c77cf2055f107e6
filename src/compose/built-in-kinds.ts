import { type Definitions, type LoadOptions, loadDefinitions as load } from '../definitions/load/load-definitions.ts';
import { createDefinitionParser } from '../definitions/load/parse-definitions.ts';
import type { DefinitionKinds } from '../definitions/schema/kinds.ts';
import { createReportSchema } from '../definitions/schema/report-definition.ts';
import { TARGETS } from '../deliver/targets/registry.ts';
import { FORMATS } from '../features/formats.ts';
import type { DefinitionReading } from '../services/definitions/definition-tasks.ts';

export { reportDiagnostics, requireReport } from '../definitions/load/load-definitions.ts';
export { FORMATS } from '../features/formats.ts';

/** The target kinds and output formats of this version of Docket. */
export const BUILT_IN_KINDS = { targets: TARGETS, formats: FORMATS } satisfies DefinitionKinds;

export const reportFileSchema = createReportSchema(BUILT_IN_KINDS);

/** Parses in this thread, without limits on time and memory. */
export const definitionParser = createDefinitionParser(BUILT_IN_KINDS, reportFileSchema);

/** What reading definitions takes, in this thread and in others. */
export const BUILT_IN_READING: DefinitionReading = { parser: definitionParser, kinds: BUILT_IN_KINDS };

/** `loadDefinitions` for definitions/, by default with `definitionParser`. */
export const loadDefinitions = (folder: string, options: Partial<LoadOptions> = {}): Promise<Definitions> =>
  load(folder, { parser: definitionParser, ...options });
