/** Detects changes of `gateway.yaml`, and of the OpenAPI documents, schemas and examples that the file names. */
import { dirname, resolve } from 'node:path';
import { FileWatch } from './source/file-watch.js';
import type { Config } from './model/schema.js';

/** ConfigWatch calls `onChange` when a watched file changes. */
export class ConfigWatch {
  private readonly files: FileWatch;

  constructor(onChange: () => void) {
    this.files = new FileWatch(onChange);
  }

  /**
   * Watches the files of this configuration instead of the files of the previous configuration.
   * @param readSinceMs time at which the caller began to read the files, in milliseconds since the epoch. New files
   * that were written later count as changed.
   * @param more files of a rejected configuration. A change of one of these files can make the configuration valid.
   */
  follow({ path, file }: Pick<Config, 'path' | 'file'>, readSinceMs?: number, more: readonly string[] = []): void {
    const documents = Object.values(file.services).flatMap(({ openapi }) => (openapi === undefined ? [] : [openapi]));
    const types = Array.isArray(file.events) ? [] : Object.values(file.events);
    for (const { schema, example } of types) documents.push(...[schema, example].filter((each) => each !== undefined));
    const files = [path, ...documents.map((document) => resolve(dirname(path), document)), ...more];
    void this.files.watchFiles([...new Set(files)], readSinceMs);
  }

  stop(): void {
    this.files.stop();
  }
}
