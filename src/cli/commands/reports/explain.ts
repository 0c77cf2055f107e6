import { secretSource } from '../../../base/secrets/secret.ts';
import { FORMATS, loadDefinitions, requireReport } from '../../../compose/built-in-kinds.ts';
import { composeCatalogs } from '../../../compose/run-ports.ts';
import { assertBegun } from '../../../definitions/periods/assert-period.ts';
import { parsePeriod, resolveRunPeriods } from '../../../definitions/periods/period.ts';
import { outputFiles } from '../../../definitions/schema/outputs.ts';
import type { Definition } from '../../../definitions/schema/report-definition.ts';
import type { TemplateView } from '../../../definitions/schema/template-view.ts';
import { withCatalog } from '../../../fetch/cache/catalog-cache.ts';
import { formatExplain } from '../../../plan/explain.ts';
import { resolveFormat } from '../../../render/formats/format.ts';
import { explainReport } from '../../../services/definitions/explain-report.ts';
import { createTemplateViewer } from '../../../services/definitions/view-template.ts';
import { createContext } from '../../context.ts';
import type { CommandIo } from '../../io.ts';
import { createPrinter } from '../../terminal/print.ts';

export async function explain(
  report: string,
  flags: { period?: string; json?: boolean },
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const { config, env, clock } = context;
  const jobs = await loadDefinitions(config.DOCKET_JOBS);
  const { definition, settings } = requireReport(jobs, report);
  const spec = flags.period === undefined ? undefined : parsePeriod(flags.period);
  const days = resolveRunPeriods(definition, settings, clock.now(), spec);
  assertBegun(days, clock.now());
  const { catalogOf, sharedBudgets, scope } = await composeCatalogs(context, { orgs: jobs.orgs });
  try {
    const ports = {
      secrets: secretSource(env, context),
      budgetOf: sharedBudgets,
      activeOrgs: jobs.orgs.values(),
      clock,
    };
    const [document, template] = await withCatalog(
      (maxAgeMs) => catalogOf(settings, maxAgeMs),
      async (catalog) => {
        const viewTemplate = createTemplateViewer(
          () => config.DOCKET_JOBS,
          async () => catalog,
          FORMATS,
        );
        const explained = await explainReport({ definition, settings }, days, { ...ports, catalog });
        return [explained, await viewTemplate({ definition, settings })] as const;
      },
    );
    const lines = template === null ? [] : await templateLines(definition, template);
    if (flags.json) print.printJson({ ...document, ...(template === null ? {} : { template }) });
    else print.printText([formatExplain(document), ...lines].join('\n'));
  } finally {
    await scope.close();
  }
}

async function templateLines({ outputs }: Definition, view: TemplateView): Promise<readonly string[]> {
  const output = outputs.find((each) => outputFiles(each, FORMATS).length > 0);
  const tools = output === undefined ? undefined : await resolveFormat(output, FORMATS).format.fileTools?.();
  return tools?.lines(view) ?? [];
}
