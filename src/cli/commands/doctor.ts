import { loadDefinitions } from '../../services/definitions/built-in-kinds.ts';
import { createContext } from '../context.ts';
import { diagnose } from '../doctor/diagnose.ts';
import type { Finding } from '../doctor/finding.ts';
import type { CommandIo } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';

export async function doctor(
  flags: { readonly catalog?: boolean; readonly json?: boolean },
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const context = createContext(io);
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS);
  const findings = await diagnose(jobs, context, { askCatalogs: flags.catalog ?? false, signal: io.signals.stop() });
  if (flags.json) print.printJson({ findings });
  else for (const finding of findings) print.printLine(formatFinding(finding));
  io.exitCode = findings.some(({ state }) => state === 'fail') ? 1 : 0;
}

/** One finding as text, its remedy on a second line. */
export const formatFinding = ({ what, state, detail, remedy }: Finding): string =>
  `${state.padEnd(4)}  ${what}: ${detail}${remedy === undefined ? '' : `\n      ${remedy}`}`;
