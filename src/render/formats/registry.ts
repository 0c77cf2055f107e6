import { csvFormat } from './csv/csv-format.ts';
import type { Format } from './format.ts';
import { jsonlFormat } from './jsonl/jsonl-format.ts';
import { parquetFormat } from './parquet/parquet-format.ts';
import { pdfFormat } from './pdf/pdf-format.ts';
import { xlsxFormat } from './xlsx/xlsx-format.ts';

/** The output formats, in the order in which an e-mail refers to them. */
export const FORMATS: readonly Format[] = [xlsxFormat, csvFormat, pdfFormat, jsonlFormat, parquetFormat];
