#!/usr/bin/env node
import { createProcessIo } from './cli/process-io.ts';
import { createProgram } from './cli/program.ts';
import { runProgram } from './cli/run-program.ts';
import { FEATURES } from './features/index.ts';

const io = createProcessIo(FEATURES);
process.exitCode = await runProgram(createProgram(io), process.argv.slice(2), io);
