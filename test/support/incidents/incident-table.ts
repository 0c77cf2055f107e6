import { readFileSync, writeFileSync } from 'node:fs';
import { countOf, type Step } from './steps.ts';

/** The incidents in the order of the table: name and alert that fires. With null, a person calls instead. */
export const INCIDENTS = {
  'Mail server refuses': 'DocketRunFailed',
  'Mail server accepts, then is silent': 'DocketDeliveryUnknown',
  'API key revoked': 'DocketRunFailed',
  'API key rotated': 'DocketOrganizationPaused',
  'Redis frozen': 'DocketRedisDown',
  'Redis full': 'DocketStorageUnusable',
  'Disk full': 'DocketStorageUnusable',
  'Pack held': 'DocketRunsHeld',
  'Unknown deliveries of 40 recipients': 'DocketDeliveryUnknown',
  'Wrong recipient in a definition': 'DocketDeliveryRefused',
  'Service down for a day': 'DocketRunFailed',
  'Worker killed repeatedly': 'DocketRunFailed',
  'Clock wrong': 'DocketSchedulerStopped',
  'Archive bucket gone': 'DocketStorageUnusable',
  'Stuck schedule': 'DocketSchedulerStopped',
  'Two processes have different definitions': 'DocketProblem',
  'Archive read-only': 'DocketStorageUnusable',
  'Jobs folder empty while running': 'DocketProblem',
  'Jobs folder empty before a start': 'DocketNoReports',
  'Redis is a read-only replica': 'DocketProblem',
  'Redis emptied': 'DocketProblem',
  'Metric dropped by five reports': 'DocketRunFailed',
  'One section refused (422)': 'DocketRunFailed',
  'Permission lost': 'DocketOrganizationPaused',
  'Mail server’s certificate expired': 'DocketRunsWaiting',
  'Approver away': 'DocketApprovalsOverdue',
  'Greylisted for an hour': 'DocketRunsWaiting',
  'One of 40 recipients bounced': 'DocketDeliveryRefused',
  'Legal hold': null,
  Leaver: null,
  '352 runs queued by mistake': null,
  'Did board@ get October? A year later': null,
  'Wrong pack': null,
} as const;
export type Incident = keyof typeof INCIDENTS;

const DOC = new URL('../../../docs/internals/incidents.md', import.meta.url);
const HEADER = [
  'Incident',
  'Alarm',
  'Clicks',
  'Fields',
  'Commands',
  'On the page',
  'In the terminal',
  'Outside of Docket',
];

/** The cells of a line in the table. */
const cells = (line: string): string[] =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());

/** The lines of the table by incident. */
export function readRows(text: string): ReadonlyMap<string, readonly string[]> {
  const rows = text
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map(cells);
  return new Map(rows.filter(([name = '']) => name in INCIDENTS).map((row) => [row[0] ?? '', row]));
}

const chain = (steps: readonly Step[], ...kinds: Step['kind'][]): string =>
  steps
    .filter(({ kind }) => kinds.includes(kind))
    .map(({ kind, text }) => (kind === 'command' ? `\`${text}\`` : text))
    .join(' → ')
    .replaceAll('|', '\\|')
    .replaceAll(/\b[0-9a-f]{8,32}\b/g, 'ID')
    .replaceAll(/\b[pt]-[a-z]+\b/g, 'ORG');

function rowOf(incident: Incident, page: readonly Step[], terminal: readonly Step[]): readonly string[] {
  return [
    incident,
    INCIDENTS[incident] ?? 'a person calls',
    String(countOf(page, 'click')),
    String(countOf(page, 'field')),
    String(countOf(terminal, 'command')),
    chain(page, 'click'),
    chain(terminal, 'command'),
    chain(terminal, 'outside'),
  ];
}

/**
 * Compares the step counts of an incident with its line in the documentation. With `INCIDENTS=write` in the environment,
 * writes the line instead.
 */
export function checkRow(incident: Incident, page: readonly Step[], terminal: readonly Step[]): void {
  const text = readFileSync(DOC, 'utf8');
  const rows = new Map(readRows(text));
  const row = rowOf(incident, page, terminal);
  if (process.env.INCIDENTS === 'write') {
    rows.set(incident, row);
    writeFileSync(
      DOC,
      text.replace(TABLE, () => formatTable(rows)),
    );
    return;
  }
  const counts = (of: readonly string[] = []) => of.slice(2, 5).join(', ');
  const stored = counts(rows.get(incident));
  if (stored === counts(row)) return;
  throw new Error(
    `${incident}: clicks, fields and commands are ${counts(row)}, in docs/internals/incidents.md ${stored || 'nothing'}. \`INCIDENTS=write npm run test:e2e -- --no-file-parallelism test/e2e/incidents\` writes it again.`,
  );
}

/** The table from its header to the end of its last line. */
const TABLE = /^\| Incident \|.*(?:\n\|.*)*/m;

function formatTable(rows: ReadonlyMap<string, readonly string[]>): string {
  const line = (row: readonly string[]): string => `| ${row.join(' | ')} |`;
  const known = Object.keys(INCIDENTS).flatMap((name) => [rows.get(name)].filter((row) => row !== undefined));
  return [line(HEADER), line(HEADER.map(() => '---')), ...known.map(line)].join('\n');
}
