import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Seeded random numbers. The same seeds give the same sequences on every machine. */
export interface RandomSource {
  /** An independent sequence. */
  fork(part: number): RandomSource;
  /** Uniformly distributed in [0, 1). */
  uniform(): number;
  chance(probability: number): boolean;
  /** A random index, by weight. */
  weightedIndex(weights: readonly number[]): number;
  /** A number with a standard normal distribution. */
  normal(): number;
  /** Log-normally distributed milliseconds in whole seconds, at least one: for durations of people and machines. */
  durationMs(medianMs: number, spread: number): number;
  /** A number with a Poisson distribution. */
  poisson(mean: number): number;
}

/** @param parts integers that identify the sequence, e.g. seed, organization, day */
export function randomSource(...parts: readonly number[]): RandomSource {
  let name = 0x9e3779b9;
  for (const part of parts) name = Math.imul(name ^ (part | 0), 0x85ebca6b) ^ (name >>> 13);
  const generator = xoroshiro128plus(name | 0);
  const uniform = () => uniformFloat64(generator);
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return {
    fork: (part) => randomSource(...parts, part),
    uniform,
    normal,
    chance: (probability) => uniform() < probability,
    weightedIndex(weights) {
      let rest = uniform() * weights.reduce((sum, weight) => sum + weight, 0);
      for (const [index, weight] of weights.entries()) {
        rest -= weight;
        if (rest < 0) return index;
      }
      return weights.length - 1;
    },
    durationMs: (medianMs, spread) => Math.max(1, Math.round((medianMs * Math.exp(spread * normal())) / 1000)) * 1000,
    poisson(mean) {
      const limit = Math.exp(-mean);
      let drawn = 0;
      for (let product = uniform(); product > limit; product *= uniform()) drawn++;
      return drawn;
    },
  };
}
