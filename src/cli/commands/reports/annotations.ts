import { version } from '../../../base/context.ts';
import { toSingleLine } from '../../../base/text/bidi.ts';
import type { Diagnostic } from '../../../definitions/diagnostics/diagnostic.ts';

/**
 * The findings of `docket check` as workflow commands of GitHub Actions, one per line. GitHub shows them at the source
 * lines of a pull request. Paths are relative to the root of the repository. Source: docs.github.com, "Workflow
 * commands for GitHub Actions".
 */
export function formatGithub(errors: readonly Diagnostic[], warnings: readonly Diagnostic[]): string[] {
  const format = (level: 'error' | 'warning', diagnostic: Diagnostic) => {
    const { file, line, column, end } = diagnostic;
    const properties = {
      file,
      line,
      col: column,
      ...(end === undefined ? {} : { endLine: end.line, ...(end.line === line ? { endColumn: end.column } : {}) }),
      title: diagnostic.code ?? 'field.invalid',
    };
    const listed = Object.entries(properties).map(([name, value]) => `${name}=${escapeProperty(String(value))}`);
    return `::${level} ${listed.join(',')}::${escapeData(describe(diagnostic))}`;
  };
  return [
    ...errors.map((diagnostic) => format('error', diagnostic)),
    ...warnings.map((diagnostic) => format('warning', diagnostic)),
  ];
}

/** A SARIF 2.1.0 log (OASIS) for code scanning and editors. */
export function toSarif(errors: readonly Diagnostic[], warnings: readonly Diagnostic[]) {
  const result = (level: 'error' | 'warning', diagnostic: Diagnostic) => {
    const { file, line, column, end, code = 'field.invalid' } = diagnostic;
    return {
      ruleId: code,
      level,
      message: { text: describe(diagnostic) },
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: file.split('/').map(encodeURIComponent).join('/') },
            region: {
              startLine: line,
              startColumn: column,
              ...(end === undefined ? {} : { endLine: end.line, endColumn: end.column }),
            },
          },
        },
      ],
    };
  };
  const results = [
    ...errors.map((diagnostic) => result('error', diagnostic)),
    ...warnings.map((diagnostic) => result('warning', diagnostic)),
  ];
  const rules = [...new Set(results.map(({ ruleId }) => ruleId))].sort().map((id) => ({ id }));
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [{ tool: { driver: { name: 'Docket', version: version(), rules } }, columnKind: 'utf16CodeUnits', results }],
  };
}

const describe = ({ cell, message, expected, got, next }: Diagnostic): string =>
  toSingleLine(
    `${cell === undefined ? '' : `${cell}: `}${message === undefined ? '' : `${message}: `}expected ${expected}, got ${got}; do: ${next}`,
  );

const escapeData = (text: string): string => text.replace(/[%\r\n]/g, (character) => encodeURIComponent(character));
const escapeProperty = (text: string): string =>
  text.replace(/[%\r\n:,]/g, (character) => encodeURIComponent(character));
