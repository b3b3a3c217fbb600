/** Notices that the files of a configuration have changed: `gateway.yaml` and the OpenAPI documents that it names. */
import { unwatchFile, watchFile } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Config } from './schema.js';

/** Files are looked at by name, so that one that was put in the place of another counts, also behind a link as in Kubernetes. */
const CHECK_INTERVAL_MS = 1_000;
/** Several files are seldom written at the same instant. */
const SETTLE_MS = 250;

export class ConfigWatch {
  private watched: readonly string[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly onChange: () => void) {}

  /** Watches the files of this configuration, and no longer those of another. */
  follow({ path, file }: Pick<Config, 'path' | 'file'>): void {
    const documents = Object.values(file.services).flatMap(({ openapi }) => (openapi === undefined ? [] : [openapi]));
    const files = [path, ...documents.map((document) => resolve(dirname(path), document))];
    const before = this.watched;
    this.watched = files;
    for (const name of before) if (!files.includes(name)) unwatchFile(name, this.changed);
    for (const name of files) {
      if (!before.includes(name)) watchFile(name, { interval: CHECK_INTERVAL_MS, persistent: false }, this.changed);
    }
  }

  stop(): void {
    clearTimeout(this.timer);
    for (const name of this.watched) unwatchFile(name, this.changed);
    this.watched = [];
  }

  private readonly changed = (): void => {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.onChange, SETTLE_MS);
    this.timer.unref();
  };
}
