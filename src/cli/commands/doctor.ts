import { withScope } from '../../base/scope.ts';
import { loadDefinitions } from '../../compose/built-in-kinds.ts';
import { diagnose } from '../../compose/probes/diagnose.ts';
import { withPrivateRedis } from '../../compose/redis.ts';
import { formatFinding } from '../../services/deployment/probe.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';

export async function doctor(
  flags: { readonly catalog?: boolean; readonly json?: boolean },
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS);
  const findings = await withScope(async (scope) => {
    const joined = await withPrivateRedis(context, scope);
    return diagnose(jobs, joined, { fetchCatalogs: flags.catalog ?? false, signal: io.signals.stop() });
  });
  if (flags.json) print.printJson({ findings: findings.map(({ orgs: _, ...finding }) => finding) });
  else for (const finding of findings) print.printText(formatFinding(finding));
  const failed = findings.filter(({ state }) => state === 'fail').length;
  if (!flags.json && failed > 0) {
    print.printNext([
      {
        command: 'docket doctor',
        why: `checks again, once ${failed === 1 ? 'the failure is' : `the ${failed} failures are`} fixed`,
      },
    ]);
  }
  io.exitCode = failed > 0 ? 1 : 0;
}
