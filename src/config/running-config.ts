/**
 * Holds the running configuration and replaces it. Each module prepares the replacement. After all preparations, all
 * modules activate the new configuration at once.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { inTurns } from '../platform/pace.js';
import { fixedSettings, settingsToRestartFor, withFixedSettings } from './fixed-settings.js';
import type { ApiDescription } from './api-description.js';
import { apisOf } from './model/apis.js';
import type { DescribedOperation, LoadedConfig } from './model/loaded-config.js';
import type { Config, Operation } from './model/schema.js';

/** A configuration to activate, and its public documents if this process serves them. */
export interface NextConfig {
  readonly config: Config;
  /** Documents of each API. Undefined if this process does not serve the documents. */
  readonly description?: readonly ApiDescription[] | undefined;
}

/** Commit activates a prepared change. The function must be synchronous and must not throw. */
export type Commit = () => void;

/**
 * Preparation prepares a change without affecting the running program. Long work must yield to the event loop every
 * millisecond or two. A rejection cancels the whole replacement.
 */
export type Preparation = (next: NextConfig) => Commit | Promise<Commit>;

/** RunningConfig holds the active configuration and replaces it while the program runs. */
export class RunningConfig {
  private readonly preparations: Preparation[] = [];
  /**
   * Index for the next new operation. Indexes are never reused, because the data of the earlier operation would count
   * for the new operation.
   */
  private nextIndex: number;

  constructor(private running: Config) {
    this.nextIndex = running.operations.length;
  }

  get current(): Config {
    return this.running;
  }

  /** Registers a preparation. Every replacement first runs all preparations, in order of registration. */
  onChange(preparation: Preparation): void {
    this.preparations.push(preparation);
  }

  /**
   * Replaces the configuration. The old configuration stays active until all preparations are done. All commits run in
   * one turn of the event loop, so no request sees a mixture of both. Await the result before the next call.
   * @param isWanted called after all preparations; false cancels the replacement, for example during shutdown
   * @returns changed settings that need a restart, such as `gateway.port`; undefined if the replacement was canceled
   * @throws Error if the APIs, their base paths or their hosts change, and any error of a preparation
   */
  async replace({ config, description }: NextConfig, isWanted = () => true): Promise<string[] | undefined> {
    const needRestart = settingsToRestartFor(this.running.file, config.file);
    const fixed = withFixedSettings(config, fixedSettings(this.running.file));
    keepApis(this.running, fixed);
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

  /** Assigns indexes. An unchanged operation keeps its index, so that data cached by index stays valid. */
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

/**
 * Throws if the APIs change. Each operation of the new file belongs to an API of that file. With the APIs of the
 * running file, the operation could be served under the path of another API.
 */
function keepApis(running: Config, next: Config): void {
  const placesOf = ({ file }: Config) => apisOf(file).map(({ name, basePath, hosts }) => ({ name, basePath, hosts }));
  if (isDeepStrictEqual(placesOf(running), placesOf(next))) return;
  const message = 'the APIs, their base paths and hosts cannot change while the program runs';
  throw new Error(`${next.path}: apis: ${message}\n  → restart to apply this file`);
}

/**
 * Returns the identity of an operation. An operation with the same identity in the next configuration keeps its index.
 */
function identity({ id, method, template }: Operation): string {
  return `${id} ${method} ${template}`;
}

/**
 * Returns the configuration without its OpenAPI documents and Operation Objects. They are its largest part, and the
 * running program does not need them.
 */
export function withoutDocuments(loaded: LoadedConfig): Config {
  const { documents: _, operations, ...rest } = loaded;
  return { ...rest, operations: operations.map(withoutDescription) };
}

function withoutDescription(operation: DescribedOperation): Operation {
  const { openapi: _, ...rest } = operation;
  return rest;
}
