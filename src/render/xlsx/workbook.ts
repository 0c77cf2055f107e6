import type { Dataset } from '../../fetch/dataset.ts';
import { DEFAULT_LOCALE } from '../format.ts';
import { writeDefinitions, writeRunSheet } from './back.ts';
import { planCharts, writeChartData, writeCharts } from './charts.ts';
import { footerOf, type Pack, writeContents, writeCover } from './front.ts';
import { writeSection } from './section.ts';
import { sheetNames } from './sheet-name.ts';
import { createBook } from './writer.ts';

export interface WorkbookOptions {
  readonly run: string;
  readonly digest: string;
  /** Epoch ms. */
  readonly madeAt: number;
  readonly locale?: string | undefined;
  readonly signal: AbortSignal;
}

/** Our own sheets take their names first, so that a section called "Cover" is the one that gives way. */
function packOf(dataset: Dataset, options: WorkbookOptions): Pack {
  const charted = dataset.tables.some((table) => table.chart !== undefined) ? ['Charts', 'Chart data'] : [];
  const own = ['Cover', 'Contents', 'Definitions', 'Run', ...charted];
  const [cover = '', contents = '', definitions = '', run = '', ...rest] = sheetNames([
    ...own,
    ...dataset.tables.map((table) => table.title),
  ]);
  const [charts, chartData] = charted.length === 0 ? [] : rest;
  return {
    dataset,
    run: options.run,
    digest: options.digest,
    madeAt: options.madeAt,
    locale: options.locale ?? DEFAULT_LOCALE,
    names: {
      cover,
      contents,
      tables: rest.slice(charted.length),
      definitions,
      run,
      ...(charts === undefined || chartData === undefined ? {} : { charts, chartData }),
    },
  };
}

/**
 * The board pack: cover, contents, charts, a sheet per section, definitions, the run's own record, the charts' figures.
 * `path` must not exist; on failure the caller removes what is there. The same dataset, run and instant give the same bytes.
 */
export async function writeWorkbook(path: string, dataset: Dataset, options: WorkbookOptions): Promise<void> {
  const pack = packOf(dataset, options);
  const charts = planCharts(pack);
  const book = createBook(
    path,
    {
      title: `${dataset.title} ${dataset.period.label}`,
      subject: dataset.organization,
      madeAt: new Date(options.madeAt),
    },
    options.signal,
  );
  try {
    await writeCover(book, pack);
    await writeContents(book, pack);
    if (charts !== undefined) await writeCharts(book, pack, charts);
    for (const [index, table] of dataset.tables.entries()) {
      await writeSection(book, {
        dataset,
        table,
        name: pack.names.tables[index] ?? table.id,
        contents: pack.names.contents,
        locale: pack.locale,
        footer: footerOf(pack),
      });
    }
    await writeDefinitions(book, pack);
    await writeRunSheet(book, pack);
    if (charts !== undefined) await writeChartData(book, pack, charts);
    await book.close();
  } catch (error) {
    await book.abandon();
    throw error;
  }
}
