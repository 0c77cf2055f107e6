import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { alertsOf, dashboardOf } from '../../support/observability.ts';
import { populatedExposition } from '../../support/populated-metrics.ts';
import { createTestProgram } from '../../support/run-command.ts';

const FOLDER = 'docs/observability';
/** Names of metrics in a text. The parts of a histogram count as the histogram. */
const namesIn = (text: string, histograms: ReadonlySet<string>): readonly string[] => [
  ...new Set(
    [...text.matchAll(/\b(?:docket|process|nodejs)_[a-z0-9_]+\b/g)].map(([name]) => {
      const whole = name.replace(/_(bucket|sum|count)$/, '');
      return histograms.has(whole) ? whole : name;
    }),
  ),
];

const exposed = async () => {
  const { body } = await populatedExposition();
  const types = new Map([...body.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]));
  const histograms = new Set([...types].filter(([, type]) => type === 'histogram').map(([name]) => name));
  return { body, names: new Set(types.keys()), histograms };
};

describe('the documentation of the metrics', () => {
  test('names exactly the metrics that Docket has', async () => {
    const { names, histograms } = await exposed();
    const text = await readFile('docs/reference/metrics.md', 'utf8');
    const ours = (all: Iterable<string>) => [...all].filter((name) => name.startsWith('docket_')).sort();
    expect(ours(namesIn(text, histograms))).toEqual(ours(names));
    for (const name of namesIn(text, histograms)) expect(names).toContain(name);
  });

  test('names the unit of each metric of time or size in its help', async () => {
    const { body } = await exposed();
    for (const [, name = '', help = ''] of body.matchAll(/^# HELP (docket_\w+) (.+)$/gm)) {
      const unit = /_(second|byte)s(_total)?$/.exec(name)?.[1];
      if (unit !== undefined) expect(help.toLowerCase(), name).toContain(unit);
    }
  });

  test('names exactly the counters with the end _total', async () => {
    const { body } = await exposed();
    for (const [, name = '', type] of body.matchAll(/^# TYPE (docket_\w+) (\w+)$/gm)) {
      expect(name.endsWith('_total'), name).toBe(type === 'counter');
    }
  });
});

describe('the alerts', () => {
  test('use only metrics and labels that exist', async () => {
    const { body, names, histograms } = await exposed();
    for (const { alert, expr } of await alertsOf(FOLDER)) {
      for (const name of namesIn(expr, histograms)) expect(names, alert).toContain(name);
      for (const [, label = '', value = ''] of expr.matchAll(/\b(role|state|le)="([^"]+)"/g)) {
        expect(body, alert).toContain(`${label}="${value}"`);
      }
    }
  });

  test('state severity, problem and remedy, with commands that exist', async () => {
    for (const { alert, labels, annotations } of await alertsOf(FOLDER)) {
      expect(['critical', 'warning'], alert).toContain(labels.severity);
      expect(annotations.summary, alert).toMatch(/\.$/);
      expect(annotations.description, alert).toMatch(/`/);
      for (const [, line = ''] of annotations.description.matchAll(/`docket ([^`]+)`/g)) {
        expect(unknownIn(line), `${alert}: docket ${line}`).toEqual([]);
      }
    }
  });

  test('are tested: each has a case in which it fires and one in which it does not', async () => {
    const cases = z
      .object({
        tests: z.array(
          z.looseObject({
            alert_rule_test: z.array(z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) })).default([]),
            promql_expr_test: z.array(z.object({ expr: z.string(), exp_samples: z.array(z.unknown()) })).default([]),
          }),
        ),
      })
      .parse(parse(await readFile(`${FOLDER}/alerts.test.yaml`, 'utf8')))
      .tests.flatMap(({ alert_rule_test: alerts, promql_expr_test: exprs }) => [
        ...alerts.map(({ alertname, exp_alerts: found }) => ({ alertname, fires: found.length > 0 })),
        ...exprs.map(({ expr, exp_samples: found }) => ({
          alertname: /alertname="(\w+)"/.exec(expr)?.[1],
          fires: found.length > 0,
        })),
      ]);
    for (const { alert } of await alertsOf(FOLDER)) {
      const own = cases.filter(({ alertname }) => alertname === alert).map(({ fires }) => fires);
      expect(new Set(own), alert).toEqual(new Set([true, false]));
    }
  });
});

describe('the dashboard', () => {
  test('uses metrics that exist, of the chosen data source and job', async () => {
    const { names, histograms } = await exposed();
    const { panels } = await dashboardOf(FOLDER);
    const exprs = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    expect(exprs.length).toBeGreaterThan(25);
    for (const expr of exprs) {
      expect(expr).toContain('job="$job"');
      expect(namesIn(expr, histograms).length, expr).toBeGreaterThan(0);
      for (const name of namesIn(expr, histograms)) expect(names).toContain(name);
    }
    for (const { type, datasource } of panels)
      if (type !== 'row') expect(datasource?.uid).toMatch(/^\$\{datasource\}$/);
  });

  test('has panels that do not overlap, each with its own title', async () => {
    const { panels } = await dashboardOf(FOLDER);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)}:${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  });
});

/** The commands and options of a command line that the program does not have. Words in capitals are placeholders. */
function unknownIn(line: string): readonly string[] {
  let command: Command = createTestProgram();
  const words = line.split(/\s+/);
  const unknown: string[] = [];
  let inOptions = false;
  for (const word of words) {
    if (word.startsWith('--')) {
      inOptions = true;
      // A group without a subcommand runs its listing.
      const known = [command, ...command.commands].flatMap(({ options }) => options.map(({ long }) => long));
      if (!known.includes(word)) unknown.push(word);
    } else if (!inOptions && /^[a-z]+$/.test(word)) {
      const next = command.commands.find((own) => own.name() === word);
      if (next === undefined) unknown.push(word);
      else command = next;
    }
  }
  return unknown;
}
