import type { Artifact, ArtifactFormat } from './artifact.ts';

/** A file to be made. */
export interface FileJob {
  readonly name: string;
  readonly format: ArtifactFormat;
  /** For the error about two files of one name. */
  readonly of: string;
  /** Writes it to `path`, which does not exist; `made` are the files of the jobs before it. */
  readonly write: (path: string, made: readonly Artifact[]) => Promise<void>;
}
