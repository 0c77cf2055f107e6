import { defineConfig } from 'vitest/config';

/** Apart from the tiers: DuckDB is installed on request. */
export default defineConfig({ test: { include: ['test/duckdb/parquet.mjs'] } });
