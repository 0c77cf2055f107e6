import type { Diagnostic } from '../diagnostics/diagnostic.ts';
import type { TargetsFile } from '../schema/targets.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import { type DirectoryEntry, readDefinitionFile } from './files.ts';
import type { LastKnownGood } from './last-known-good.ts';
import type { DefinitionParser } from './parse-definitions.ts';

/** `targets.yaml` beside `org.yaml`. */
export const TARGETS_STEM = 'targets';

export type LoadedTargets =
  | { readonly kind: 'none' | 'invalid' }
  /** A report with that name, which was possible before targets existed. */
  | { readonly kind: 'report' }
  | { readonly kind: 'targets'; readonly text: string; readonly value: TargetsFile };

interface TargetsState {
  readonly parser: DefinitionParser;
  readonly previous: LastKnownGood;
  readonly diagnostics: Diagnostic[];
  readonly warnings: Diagnostic[];
  readonly targetSources: Map<string, SourceFile>;
}

/** Loads an organization's targets. Their errors, and the warning about a report with that name, go into `state`. */
export async function loadTargets(
  org: string,
  file: DirectoryEntry | undefined,
  { parser, previous, diagnostics, warnings, targetSources }: TargetsState,
): Promise<LoadedTargets> {
  if (file === undefined) return { kind: 'none' };
  // The last good version of this file was a report.
  const wasReport = previous.reports.has(`${org}/${TARGETS_STEM}`);
  const read = await readDefinitionFile(file.file);
  if ('fault' in read) {
    if (wasReport) return { kind: 'report' };
    diagnostics.push(read.fault);
    return { kind: 'invalid' };
  }
  const { source, isReport, value, diagnostics: found } = await parser.targets(read.text, file.file);
  if (isReport || (wasReport && value === undefined)) {
    warnings.push(
      diagnosticAt(source, ['sections'], {
        expected: 'a report under another name: targets.yaml contains the targets of the organization',
        got: 'one with "sections", which is read as the report "targets"',
        next: 'rename the file if the organization needs targets',
      }),
    );
    return { kind: 'report' };
  }
  targetSources.set(org, source);
  diagnostics.push(...found);
  return value === undefined ? { kind: 'invalid' } : { kind: 'targets', text: read.text, value };
}
