import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Seeded draws; two with the same parts give the same sequence on every machine. */
export interface Draw {
  /** A sequence of its own, so that what one thing draws never shifts what another does. */
  fork(part: number): Draw;
  /** Uniform in [0, 1). */
  share(): number;
  chance(probability: number): boolean;
  /** An index, as often as its weight says. */
  index(weights: readonly number[]): number;
  /** Standard normal. */
  normal(): number;
  /** Log-normal milliseconds in whole seconds, at least one: how long people and machines take. */
  lasting(medianMs: number, spread: number): number;
  /** Poisson. */
  count(mean: number): number;
}

/** @param parts integers that name the sequence, e.g. seed, organization, day */
export function draws(...parts: readonly number[]): Draw {
  let name = 0x9e3779b9;
  for (const part of parts) name = Math.imul(name ^ (part | 0), 0x85ebca6b) ^ (name >>> 13);
  const generator = xoroshiro128plus(name | 0);
  const share = () => uniformFloat64(generator);
  const normal = () => Math.sqrt(-2 * Math.log(1 - share())) * Math.cos(2 * Math.PI * share());
  return {
    fork: (part) => draws(...parts, part),
    share,
    normal,
    chance: (probability) => share() < probability,
    index(weights) {
      let rest = share() * weights.reduce((sum, weight) => sum + weight, 0);
      for (const [index, weight] of weights.entries()) {
        rest -= weight;
        if (rest < 0) return index;
      }
      return weights.length - 1;
    },
    lasting: (medianMs, spread) => Math.max(1, Math.round((medianMs * Math.exp(spread * normal())) / 1000)) * 1000,
    count(mean) {
      const limit = Math.exp(-mean);
      let drawn = 0;
      for (let product = share(); product > limit; product *= share()) drawn++;
      return drawn;
    },
  };
}
