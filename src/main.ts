#!/usr/bin/env node
import { runProgram } from './cli/exit.ts';
import { createProgram } from './cli/program.ts';

await runProgram(createProgram());
