import { jsonlFiles } from '../../../dist-modules/render/formats/jsonl/jsonl-files.js';
import { writeFirst } from '../write-first.mjs';

export const write = writeFirst(jsonlFiles);
