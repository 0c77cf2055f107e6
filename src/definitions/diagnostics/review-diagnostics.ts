import { foldText } from '../../base/text/fold.ts';
import { DAY_MS } from '../../base/time.ts';
import { accountKey } from '../allow-lists/recipients.ts';
import { approvers, keyOfEntry } from '../people.ts';
import type { OrgFile, OrgSettings } from '../schema/org-settings.ts';
import type { ReportFile } from '../schema/report-definition.ts';
import type { People } from '../schema/review.ts';
import { reportTargets } from '../schema/targets.ts';
import { formatDurationLiteral } from '../schema/values/durations.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import { type Diagnostic, describeValue } from './diagnostic.ts';
import { closestMatches } from './suggest.ts';

type ReviewSettings = Pick<OrgSettings, 'people' | 'targets' | 'retention_days'>;

/**
 * Reports approvals that nobody can give, comments that are never requested, and corrections of editions that are no
 * longer kept. If the settings are unknown, only the report itself is checked.
 */
export const reviewDiagnostics = (
  source: SourceFile,
  report: ReportFile,
  org: ReviewSettings | undefined,
): Diagnostic[] => [
  ...approvalDiagnostics(source, report, org),
  ...commentaryDiagnostics(source, report, org),
  ...correctionsDiagnostics(source, report, org),
];

function approvalDiagnostics(
  source: SourceFile,
  { approval }: ReportFile,
  org: ReviewSettings | undefined,
): Diagnostic[] {
  if (approval === undefined) return [];
  const { by, may_delegate: mayDelegate = [], need, within, otherwise } = approval;
  const people = org?.people;
  const ofEntries = entryDiagnostics(source, 'by', by, people);
  const able = approvers(by, people).filter(({ canSignIn }) => canSignIn);
  const unreachable =
    able.length >= need
      ? []
      : [
          diagnosticAt(source, ['approval', 'need'], {
            code: 'approval.unreachable',
            expected: `at most ${able.length}, as many different people as "by" names who can sign in`,
            got: String(need),
            next: 'add people to "by", or lower "need"; tokens and accounts of one person count once',
          }),
        ];
  const never =
    otherwise === 'cancel' && within === undefined
      ? [
          diagnosticAt(source, ['approval', 'otherwise'], {
            expected: '"within" beside "otherwise: cancel", which says when',
            got: 'none',
            next: 'add e.g. within: 2bd, or remove "otherwise"',
          }),
        ]
      : [];
  // If entries are wrong, the number of people means nothing.
  const ofDelegates = entryDiagnostics(source, 'may_delegate', mayDelegate, people);
  return [...ofEntries, ...ofDelegates, ...(ofEntries.length > 0 ? [] : unreachable), ...never];
}

/** Reports entries that name nobody who can sign in. */
const entryDiagnostics = (
  source: SourceFile,
  field: 'by' | 'may_delegate',
  entries: readonly string[],
  people: People | undefined,
): Diagnostic[] =>
  entries.flatMap((entry, index): Diagnostic[] => {
    const add = (parts: Pick<Diagnostic, 'expected' | 'got' | 'next'>) => [
      diagnosticAt(source, ['approval', field, index], parts),
    ];
    if (entries.indexOf(entry) < index)
      return add({ expected: 'each entry once', got: describeValue(entry), next: 'remove the second one' });
    const [approver] = approvers([entry], people);
    if (approver?.canSignIn === false) {
      return add({
        expected: `a person with "tokens" or "accounts" in org.yaml, who can sign in to ${field === 'by' ? 'approve' : 'delegate'}`,
        got: `${describeValue(entry)} without them`,
        next: 'add one to the person in org.yaml, or name another one',
      });
    }
    const near = misspelt(entry, people);
    if (near === undefined) return [];
    return add({
      expected: `a person of org.yaml (${Object.keys(people ?? {})
        .slice(0, 20)
        .join(', ')}), or a token or account`,
      got: describeValue(entry),
      next: `did you mean "${near}"? If it is a token, add it to its person in org.yaml`,
    });
  });

/** If an entry names nobody: the key, token or account that it almost matches. */
function misspelt(entry: string, people: People | undefined): string | undefined {
  if (people === undefined || keyOfEntry(entry, people) !== undefined) return undefined;
  const known = Object.entries(people).flatMap(([key, { tokens, accounts }]) => [key, ...tokens, ...accounts]);
  const near = closestMatches(entry, known)[0];
  // Two people may have similar addresses.
  return near === undefined || (near.includes('@') && entry.includes('@')) ? undefined : near;
}

/** Reports `required_if` in sections without a figure that has a status. */
function commentaryDiagnostics(
  source: SourceFile,
  { sections, targets }: ReportFile,
  org: ReviewSettings | undefined,
): Diagnostic[] {
  if (org === undefined) return [];
  const judged = new Set(
    reportTargets(org.targets, targets).flatMap(({ metric, target }) => (target === undefined ? [] : metric)),
  );
  return sections.flatMap(({ commentary, metrics = [] }, index) => {
    if (commentary === undefined || !('required_if' in commentary) || commentary.required_if === undefined) return [];
    if (metrics.some((metric) => judged.has(metric))) return [];
    return diagnosticAt(source, ['sections', index, 'commentary', 'required_if'], {
      expected: 'a target for a metric of the section, which a status needs',
      got: 'none',
      next: 'add one to targets.yaml or under "targets", or write commentary: required',
    });
  });
}

/** Reports a materiality without a percent sign, and a watch that is longer than editions are kept. */
function correctionsDiagnostics(
  source: SourceFile,
  { corrections }: ReportFile,
  org: ReviewSettings | undefined,
): Diagnostic[] {
  if (corrections === undefined) return [];
  return [...materialityDiagnostics(source), ...watchDiagnostics(source, corrections.watch, org?.retention_days)];
}

/** Stored definitions have a share. In a file, Docket would read 1 as 100%, and people as 1%. */
function materialityDiagnostics(source: SourceFile): Diagnostic[] {
  const node = source.tree?.fields?.get('corrections')?.value?.fields?.get('materiality')?.value;
  const { offset, end } = node ?? {};
  const written = offset === undefined || end === undefined ? undefined : source.text.slice(offset, end);
  if (written === undefined || written.includes('%')) return [];
  return [
    diagnosticAt(source, ['corrections', 'materiality'], {
      expected: 'a percentage from 0% to 100%, e.g. 1%',
      got: `${written} without a percent sign`,
      next: 'add it',
    }),
  ];
}

function watchDiagnostics(source: SourceFile, watch: number, days: number | undefined): Diagnostic[] {
  if (days === undefined || watch * 1000 <= days * DAY_MS) return [];
  return [
    diagnosticAt(source, ['corrections', 'watch'], {
      expected: `at most the organization's retention_days (${days}d): later editions are no longer in the archive`,
      got: formatDurationLiteral(watch),
      next: 'shorten it, or raise retention_days in org.yaml',
    }),
  ];
}

/**
 * Reports people in an org.yaml who would count twice or be confused, because they share a token, account or printed
 * name.
 */
export function peopleDiagnostics(source: SourceFile, { people = {} }: Pick<OrgFile, 'people'>): Diagnostic[] {
  const owners = new Map<string, string>();
  const found: Diagnostic[] = [];
  const claim = (kind: string, text: string, key: string, path: readonly (string | number)[]): void => {
    const canonical = `${kind} ${kind === 'account' ? accountKey(text) : foldText(text)}`;
    const owner = owners.get(canonical);
    if (owner === undefined) owners.set(canonical, key);
    else if (owner !== key) {
      found.push(
        diagnosticAt(source, ['people', ...path], {
          expected: `a ${kind} of one person: it is ${describeValue(owner)}'s already`,
          got: describeValue(text),
          next: 'remove it from one of the two, or make one person of them',
        }),
      );
    }
  };
  for (const [key, { name, tokens, accounts }] of Object.entries(people)) {
    claim('name', name ?? key, key, name === undefined ? [key] : [key, 'name']);
    for (const [index, token] of tokens.entries()) claim('token', token, key, [key, 'tokens', index]);
    for (const [index, account] of accounts.entries()) claim('account', account, key, [key, 'accounts', index]);
    for (const [field, texts] of Object.entries({ tokens, accounts })) {
      texts.forEach((text, index) => {
        if (text === key || !Object.hasOwn(people, text)) return;
        found.push(
          diagnosticAt(source, ['people', key, field, index], {
            expected: `a name that is no other person's key: in "by", ${describeValue(text)} is that person`,
            got: describeValue(text),
            next: 'rename one of the two',
          }),
        );
      });
    }
  }
  return found;
}
