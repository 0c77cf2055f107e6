import { writeFileSync } from 'node:fs';
import { fieldReference } from '../dist-modules/cli/field-reference.js';
import { createProcessIo } from '../dist-modules/cli/process-io.js';
import { createProgram } from '../dist-modules/cli/program.js';
import { referenceOf } from '../dist-modules/cli/reference.js';
import { BUILT_IN_KINDS } from '../dist-modules/services/definitions/built-in-kinds.js';

writeFileSync(new URL('../docs/cli.md', import.meta.url), referenceOf(createProgram(createProcessIo())));
writeFileSync(new URL('../docs/report-fields.md', import.meta.url), fieldReference(BUILT_IN_KINDS));
