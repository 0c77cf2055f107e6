// Runs in a process of its own: compiles one document and sends the result. See typst-compiler.ts for its limits.
