#!/usr/bin/env node
import { createProgram } from './cli/program.ts';
import { exitWith } from './cli/exit.ts';

await exitWith(createProgram());
