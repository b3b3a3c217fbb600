/**
 * The configuration that runs, and how the next one takes its place: made ready in pieces, put in force in one step.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inTurns } from '../platform/pace.js';
import { fixedSettings, settingsToRestartFor, withFixedSettings } from './fixed-settings.js';
import type { ApiDescription } from './api-description.js';
import type { DescribedOperation, LoadedConfig } from './model/loaded-config.js';
import type { Config, Operation } from './model/schema.js';

/** A configuration that is going to run, and its public description where somebody here hands that out. */
export interface NextConfig {
  readonly config: Config;
  readonly description?: ApiDescription | undefined;
}

/** Puts in force what was made ready: at once, and without fail. */
export type Commit = () => void;

/**
 * Makes ready what follows from a configuration, and changes nothing that runs. What takes longer than a millisecond or
 * two awaits turns of the event loop in between. Rejects where it cannot be had: then all stays as it is.
 */
export type Preparation = (next: NextConfig) => Commit | Promise<Commit>;

export class RunningConfig {
  private readonly preparations: Preparation[] = [];
  /** Indexes are never given twice: what is kept by one would be taken for another operation's. */
  private nextIndex: number;

  constructor(private running: Config) {
    this.nextIndex = running.operations.length;
  }

  get current(): Config {
    return this.running;
  }

  /** Asked before every change, in the order in which they said so. */
  onChange(preparation: Preparation): void {
    this.preparations.push(preparation);
  }

  /**
   * Takes a configuration over. Until everything is ready what runs goes on; then all of it is in force within one turn
   * of the event loop, so that no request sees a half. To be awaited before the next one.
   * @param isWanted asked once everything is ready: while it was made so, the program may have begun to end.
   * @returns settings that differ and only count after a restart; undefined where nothing was taken over.
   */
  async replace({ config, description }: NextConfig, isWanted = () => true): Promise<string[] | undefined> {
    const needRestart = settingsToRestartFor(this.running.file, config.file);
    const fixed = withFixedSettings(config, fixedSettings(this.running.file));
    const next: Config = { ...fixed, operations: await this.withIndexes(fixed.operations) };
    const commits: Commit[] = [];
    for (const prepare of this.preparations) {
      commits.push(await prepare({ config: next, description }));
      await nextTurn();
    }
    if (!isWanted()) return undefined;
    this.running = next;
    for (const commit of commits) commit();
    return needRestart;
  }

  /** Operations that stay keep their index, and with it what the request path has worked out for them. */
  private async withIndexes(operations: readonly Operation[]): Promise<Operation[]> {
    const indexes = new Map<string, number>();
    await inTurns(this.running.operations, (operation) => indexes.set(identity(operation), operation.index));
    const indexed: Operation[] = [];
    await inTurns(operations, (operation) => {
      indexed.push({ ...operation, index: indexes.get(identity(operation)) ?? this.nextIndex++ });
    });
    return indexed;
  }
}

/** What the metrics and the usage of an operation are kept by. */
function identity({ id, method, template }: Operation): string {
  return `${id} ${method} ${template}`;
}

/** What runs of what was loaded: the documents, the largest part of it, are not needed any more. */
export function withoutDocuments(loaded: LoadedConfig): Config {
  const { documents: _, operations, ...rest } = loaded;
  return { ...rest, operations: operations.map(withoutDescription) };
}

function withoutDescription(operation: DescribedOperation): Operation {
  const { openapi: _, ...rest } = operation;
  return rest;
}
