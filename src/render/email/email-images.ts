import type { Band, TrendPoint } from '../pack/pack.ts';

/** A small chart without axes, drawn in CSS pixels. */
export interface SmallChart {
  readonly points: readonly TrendPoint[];
  /** The usual range of the last point. */
  readonly band?: Band;
  readonly width: number;
  readonly height: number;
  /** The chart in words. */
  readonly alt: string;
}

/** An image in the template data. */
export interface ImageData {
  readonly cid: string;
  /** The alternative text. */
  readonly alt: string;
  /** The caption; may be empty. */
  readonly note: string;
  /** CSS pixels. */
  readonly width: number;
  readonly height: number;
}

export interface EmailPictures {
  readonly logo: ImageData | undefined;
  /** By section id. */
  readonly charts: ReadonlyMap<string, ImageData>;
  readonly smallCharts: ReadonlyMap<SmallChart, ImageData>;
}
