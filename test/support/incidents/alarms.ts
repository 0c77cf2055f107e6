import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';

const rulesSchema = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          annotations: z.object({ summary: z.string(), description: z.string() }),
        }),
      ),
    }),
  ),
});

const RULES = new URL('../../../docs/observability/alerts.yaml', import.meta.url);

/**
 * The text of a Prometheus alert, as an operator gets it.
 * @param labels of the series that fired it, such as `org`
 */
export async function alarmText(alert: string, labels: Readonly<Record<string, string>> = {}): Promise<string> {
  const { groups } = rulesSchema.parse(parse(await readFile(RULES, 'utf8')));
  const rule = groups.flatMap(({ rules }) => rules).find((each) => each.alert === alert);
  if (rule === undefined) throw new Error(`There is no alarm ${alert}.`);
  const { summary, description } = rule.annotations;
  return `${summary}\n${description}`.replaceAll(
    /\{\{ \$labels\.(\w+) \}\}/g,
    (_, name: string) => labels[name] ?? '…',
  );
}
