import { parquetFiles } from '../../../dist-modules/render/formats/parquet/parquet-files.js';
import { writeFirst } from '../write-first.mjs';

export const write = writeFirst(parquetFiles);
