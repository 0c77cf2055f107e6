import { runDemo } from '../../demo/demo.ts';
import { type CommandIo, resolvePath } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';
import { openProgressBars } from '../terminal/progress-bar.ts';
import { showRunProgress } from '../terminal/run-progress.ts';

export async function demo(
  { out, json, page = false }: { readonly out: string; readonly json?: boolean; readonly page?: boolean },
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const bars = openProgressBars(io);
  try {
    const { folder, records } = await runDemo({
      out: resolvePath(out, io),
      env: io.env,
      printLine: bars.printLine,
      observerOf: (report, now) => showRunProgress(report, bars, now),
      signal: io.signals.stop(),
      page,
    });
    if (json) print.printJson({ folder, runs: records });
    io.exitCode = records.every(({ state }) => state === 'done') ? 0 : 1;
  } finally {
    bars.close();
  }
}
