import { writeFileSync } from 'node:fs';
import { createProgram } from './dist/cli/program.js';
import { referenceOf } from './dist/cli/reference.js';

writeFileSync(new URL('docs/cli.md', import.meta.url), referenceOf(createProgram()));
