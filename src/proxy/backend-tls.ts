/**
 * What a service's connections over TLS are verified by and show of us: authorities and a client certificate from files, read at
 * start and again when they change. Connections that stand are not touched.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { FileWatch } from '../config/file-watch.js';
import type { ServiceConfig } from '../config/schema.js';
import type { Logger } from '../log.js';

export type BackendTlsConfig = NonNullable<ServiceConfig['tls']>;

/** The contents of the files, PEM. */
export interface BackendTlsFiles {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export class BackendTls {
  /** Another object once the files have changed. */
  current: BackendTlsFiles;
  /** The name that certificates are checked against, where it is not the target's host. */
  readonly serverName: { readonly servername?: string };
  private readonly paths: readonly string[];
  private readonly files = new FileWatch(() => void this.read());

  /**
   * @param folder what the files are relative to.
   * @param read the files' contents, where they have been read; else they are read at once, as at the start.
   * @throws where a file cannot be read or is none of its kind.
   */
  constructor(
    private readonly service: string,
    private readonly config: BackendTlsConfig,
    private readonly folder: string,
    private readonly log?: Logger,
    read?: BackendTlsFiles,
  ) {
    this.serverName = config.serverName === undefined ? {} : { servername: config.serverName };
    const { ca, cert, key } = config;
    this.paths = [ca, cert, key].filter((file) => file !== undefined).map((file) => resolve(folder, file));
    try {
      this.current = read ?? readNow(config, folder);
    } catch (error) {
      throw unusable(service, error);
    }
  }

  /** Begins to look whether the files have changed. */
  follow(): void {
    this.files.follow(this.paths);
  }

  stop(): void {
    this.files.stop();
  }

  private async read(): Promise<void> {
    const { service } = this;
    try {
      this.current = await readFiles(this.config, this.folder);
      this.log?.info({ event: 'backend_tls_changed', service }, 'New connections to the service use the new files');
    } catch (error) {
      this.log?.error(
        { event: 'backend_tls_refused', service, files: this.paths, err: error },
        'The changed TLS files of a service cannot be used; those in use stay',
      );
    }
  }
}

/** Reads the files of a service. Rejects where one cannot be read, is none of its kind, or certificate and key do not fit together. */
export async function readBackendTls(
  service: string,
  config: BackendTlsConfig,
  folder: string,
): Promise<BackendTlsFiles> {
  try {
    return await readFiles(config, folder);
  } catch (error) {
    throw unusable(service, error);
  }
}

async function readFiles({ ca, cert, key }: BackendTlsConfig, folder: string): Promise<BackendTlsFiles> {
  return usable({
    ...(ca === undefined ? {} : { ca: await readFile(resolve(folder, ca)) }),
    ...(cert === undefined ? {} : { cert: await readFile(resolve(folder, cert)) }),
    ...(key === undefined ? {} : { key: await readFile(resolve(folder, key)) }),
  });
}

function readNow({ ca, cert, key }: BackendTlsConfig, folder: string): BackendTlsFiles {
  return usable({
    ...(ca === undefined ? {} : { ca: readFileSync(resolve(folder, ca)) }),
    ...(cert === undefined ? {} : { cert: readFileSync(resolve(folder, cert)) }),
    ...(key === undefined ? {} : { key: readFileSync(resolve(folder, key)) }),
  });
}

/** @throws where one is none of its kind, or certificate and key do not fit together. */
function usable(files: BackendTlsFiles): BackendTlsFiles {
  createSecureContext(files);
  // What is no certificate would be passed over without a word.
  if (files.ca !== undefined) new X509Certificate(files.ca);
  return files;
}

function unusable(service: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(`The files of services.${service}.tls cannot be used: ${reason}`, { cause: error });
}
