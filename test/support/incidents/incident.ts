import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type TestOptions, test } from 'vitest';
import { alarmText } from './alarms.ts';
import type { IncidentDeployment } from './deployment.ts';
import { checkRow, INCIDENTS, type Incident } from './incident-table.ts';
import type { PageOperator } from './page-operator.ts';
import type { TerminalOperator } from './terminal-operator.ts';

const PROJECT = fileURLToPath(new URL('../../../', import.meta.url));

interface Scripts {
  /** The organizations of the two operators: each has its own incident, or both see the same one. */
  readonly orgs: { readonly page: string; readonly terminal: string };
  /** Causes the incident before the operators arrive. */
  readonly raise?: () => Promise<unknown>;
  /** Causes the incident after the operators have signed in. */
  readonly strike?: () => Promise<unknown>;
  readonly page: (operator: PageOperator) => Promise<void>;
  readonly terminal: (operator: TerminalOperator) => Promise<void>;
  /** What a caller says, if no alert fires. */
  readonly called?: (orgs: Scripts['orgs']) => string;
  /** The documentation page that the operator at the terminal reads. */
  readonly guide?: string;
  /** Added to the environment of the operator at the terminal. */
  readonly env?: () => Readonly<Record<string, string>>;
}

/** Tests that both operators resolve an incident, and that the documentation counts their steps. */
export function incident(
  name: Incident,
  deployment: () => IncidentDeployment,
  { orgs, raise, strike, page: onPage, terminal: inTerminal, called, guide, env }: Scripts,
  options: TestOptions = {},
): void {
  test(name, options, async () => {
    await raise?.();
    const terminal = deployment().terminal(env?.());
    const alarm = INCIDENTS[name];
    terminal.receives(alarm === null ? (called?.(orgs) ?? '') : await alarmText(alarm, { org: orgs.terminal }));
    if (guide !== undefined) terminal.receives(await readFile(join(PROJECT, guide), 'utf8'));
    const page = await deployment().page(orgs.page);
    await strike?.();
    await Promise.all([onPage(page), inTerminal(terminal)]);
    await page.page.context().close();
    checkRow(name, page.steps, terminal.steps);
  });
}
