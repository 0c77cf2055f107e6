import { writeFileSync } from 'node:fs';
import { createProcessIo } from './dist/cli/process-io.js';
import { createProgram } from './dist/cli/program.js';
import { referenceOf } from './dist/cli/reference.js';

writeFileSync(new URL('docs/cli.md', import.meta.url), referenceOf(createProgram(createProcessIo())));
