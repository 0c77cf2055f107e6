#!/usr/bin/env node
console.log('docket');
