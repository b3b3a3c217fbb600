/** The running configuration, and its replacement: prepared in steps, activated at once. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inTurns } from '../platform/pace.js';
import { fixedSettings, settingsToRestartFor, withFixedSettings } from './fixed-settings.js';
import type { ApiDescription } from './api-description.js';
import type { DescribedOperation, LoadedConfig } from './model/loaded-config.js';
import type { Config, Operation } from './model/schema.js';

/** A configuration to activate, with its public documents if this process serves them. */
export interface NextConfig {
  readonly config: Config;
  /** Documents of each API. */
  readonly description?: readonly ApiDescription[] | undefined;
}

/** Activates a prepared change. Synchronous; must not fail. */
export type Commit = () => void;

/**
 * Prepares a change without affecting the running program. Long work must yield to the event loop every millisecond or
 * two. A rejection cancels the whole replacement.
 */
export type Preparation = (next: NextConfig) => Commit | Promise<Commit>;

export class RunningConfig {
  private readonly preparations: Preparation[] = [];
  /** Indexes are never reused, because data stored under one would be attributed to another operation. */
  private nextIndex: number;

  constructor(private running: Config) {
    this.nextIndex = running.operations.length;
  }

  get current(): Config {
    return this.running;
  }

  /** Registers a preparation. They run before every replacement, in order of registration. */
  onChange(preparation: Preparation): void {
    this.preparations.push(preparation);
  }

  /**
   * Replaces the configuration. The old one stays active until everything is prepared. Activation takes one turn of the
   * event loop, so no request sees a mixture. Await it before the next call.
   * @param isWanted called after preparation, because the program may have begun to shut down
   * @returns changed settings that need a restart; undefined if the replacement was canceled
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

  /** Assigns indexes. Unchanged operations keep theirs, with everything cached under it. */
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

/** Identity of an operation in metrics and usage. */
function identity({ id, method, template }: Operation): string {
  return `${id} ${method} ${template}`;
}

/** Returns the configuration without its documents, the largest part, which the program no longer needs. */
export function withoutDocuments(loaded: LoadedConfig): Config {
  const { documents: _, operations, ...rest } = loaded;
  return { ...rest, operations: operations.map(withoutDescription) };
}

function withoutDescription(operation: DescribedOperation): Operation {
  const { openapi: _, ...rest } = operation;
  return rest;
}
