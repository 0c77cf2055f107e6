import type { TestProject } from 'vitest/node';

/** Each runner has a database of its own in the Redis that `run.mjs` started: it is emptied again and again. */
export default function setup(project: TestProject): void {
  const { MUTATION_REDIS, STRYKER_MUTATOR_WORKER = '0' } = process.env;
  project.provide('redisUrl', `${MUTATION_REDIS}/${Number(STRYKER_MUTATOR_WORKER) % 16}`);
}
