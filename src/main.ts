#!/usr/bin/env node
import { exitWith } from './cli/exit.ts';
import { createProgram } from './cli/program.ts';

await exitWith(createProgram());
