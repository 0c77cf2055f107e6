import type { Dataset } from '../../fetch/dataset.ts';
import { DEFAULT_LOCALE } from '../format.ts';
import { writeDefinitions, writeRunSheet } from './back.ts';
import { footerOf, type Pack, writeContents, writeCover } from './front.ts';
import { writeSection } from './section.ts';
import { sheetNames } from './sheet-name.ts';
import { createBook } from './writer.ts';

export interface WorkbookOptions {
  readonly run: string;
  readonly digest: string;
  /** Epoch ms. */
  readonly madeAt: number;
  readonly locale?: string;
  readonly signal: AbortSignal;
}

function packOf(dataset: Dataset, options: WorkbookOptions): Pack {
  // Our own sheets take their names first, so that a section called "Cover" is the one that gives way.
  const [cover = '', contents = '', definitions = '', run = '', ...tables] = sheetNames([
    'Cover',
    'Contents',
    'Definitions',
    'Run',
    ...dataset.tables.map((table) => table.title),
  ]);
  return {
    dataset,
    run: options.run,
    digest: options.digest,
    madeAt: options.madeAt,
    locale: options.locale ?? DEFAULT_LOCALE,
    names: { cover, contents, tables, definitions, run },
  };
}

/**
 * The board pack: cover, contents, a sheet per section, definitions and the run's own record.
 * `path` must not exist; on failure the caller removes what is there. The same dataset, run and instant give the same bytes.
 */
export async function writeWorkbook(path: string, dataset: Dataset, options: WorkbookOptions): Promise<void> {
  const pack = packOf(dataset, options);
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
    await book.close();
  } catch (error) {
    await book.abandon();
    throw error;
  }
}
