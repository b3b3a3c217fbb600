/** Reads and checks `api` or `apis` of a `gateway.yaml` that is not validated yet. */
import { hostName } from '../model/accepted-hosts.js';
import { didYouMean, type ConfigProblem } from '../model/problem.js';
import { DEFAULT_BASE_PATH } from '../model/schema.js';
import type { SourceDocument } from '../source/source-document.js';
import { isObject, type JsonObject } from './openapi-traversal.js';

interface ReadApi {
  readonly name: string;
  readonly basePath: string;
  readonly hosts: readonly string[];
  /** Host name of `publicUrl`. Undefined if `publicUrl` is missing or invalid. */
  readonly publicHost: string | undefined;
}

/**
 * ReadApis looks up names and base paths of the APIs of a file. Invalid values count as empty, because the schema check
 * reports them.
 */
export class ReadApis {
  private readonly apis: readonly ReadApi[];
  private readonly file: JsonObject;
  private readonly services: JsonObject;

  /** @param value unvalidated file */
  constructor(value: unknown) {
    this.file = objectOf(value);
    this.services = objectOf(this.file['services']);
    const { api, apis } = this.file;
    const { basePath } = objectOf(api);
    this.apis = Array.isArray(apis)
      ? apis.map(readApi)
      : [
          {
            name: '',
            basePath: typeof basePath === 'string' ? basePath : DEFAULT_BASE_PATH,
            hosts: [],
            publicHost: undefined,
          },
        ];
  }

  get names(): readonly string[] {
    return this.apis.map(({ name }) => name);
  }

  /** Name of the first API. Empty for `api`, which has no name. */
  get first(): string | undefined {
    return this.apis[0]?.name;
  }

  has(name: string): boolean {
    return name !== '' && this.names.includes(name);
  }

  /** Returns the name of the API that contains the operations of a service. Undefined for the first API. */
  ofService(service: string): string | undefined {
    const { api: name } = objectOf(this.services[service]);
    return typeof name !== 'string' || name === this.first ? undefined : name;
  }

  /**
   * Returns the base path of an API.
   * @param name name of the API; an unknown name or undefined stands for the first API
   */
  basePath(name: string | undefined): string {
    return (this.apis.find((api) => api.name === name) ?? this.apis[0])?.basePath ?? DEFAULT_BASE_PATH;
  }

  /** Returns the problems of `api` and `apis`, and of services that name an unknown API. */
  problems(source: SourceDocument): ConfigProblem[] {
    const both = this.file['api'] !== undefined && this.file['apis'] !== undefined;
    return [
      ...(both ? [source.problem(['apis'], 'stands beside `api`', 'keep one of them: `api` for one API')] : []),
      ...this.apis.flatMap((api, at) => [
        ...this.conflictProblems(source, api, at),
        ...originProblems(source, api, at),
      ]),
      ...this.serviceProblems(source),
    ];
  }

  /**
   * Reports an API that has the name of an earlier API. Also reports an API whose base path overlaps with that of an
   * earlier API on the same host.
   */
  private conflictProblems(source: SourceDocument, api: ReadApi, at: number): ConfigProblem[] {
    const before = this.apis.slice(0, at);
    if (before.some(({ name }) => name === api.name && name !== '')) {
      return [source.problem(['apis', at, 'name'], `\`${api.name}\` is there already`, 'choose another name')];
    }
    const other = before.find((each) => shareHosts(each, api) && overlap(each.basePath, api.basePath));
    if (other === undefined) return [];
    const message = `${api.basePath} and ${other.basePath} of \`${other.name}\` take the same requests`;
    return [source.problem(['apis', at, 'basePath'], message, 'choose another path, or give both their own `hosts`')];
  }

  private serviceProblems(source: SourceDocument): ConfigProblem[] {
    return Object.entries(this.services).flatMap(([service, settings]) => {
      const { api: name } = objectOf(settings);
      if (typeof name !== 'string' || this.has(name)) return [];
      const hint = didYouMean(name, this.names) ?? 'name one of `apis`';
      return [source.problem(['services', service, 'api'], `no API is called \`${name}\``, hint)];
    });
  }
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Reports an API whose `hosts` do not contain the host name of its own `publicUrl`. */
function originProblems(source: SourceDocument, { publicHost, hosts }: ReadApi, at: number): ConfigProblem[] {
  if (publicHost === undefined || hosts.length === 0 || hosts.includes(publicHost)) return [];
  const message = `${publicHost} is none of the \`hosts\` of this API, so its links would lead to 404`;
  return [source.problem(['apis', at, 'publicUrl'], message, 'add the host name to `hosts`')];
}

function readApi(value: unknown): ReadApi {
  const { name, basePath, hosts, publicUrl } = objectOf(value);
  return {
    name: typeof name === 'string' ? name : '',
    basePath: typeof basePath === 'string' ? basePath : '',
    hosts: Array.isArray(hosts) ? hosts.map((host) => hostName(String(host))) : [],
    publicHost:
      typeof publicUrl === 'string' && URL.canParse(publicUrl) ? hostName(new URL(publicUrl).host) : undefined,
  };
}

/** Reports whether two APIs have a common host name, or both accept any host name. */
function shareHosts(one: ReadApi, other: ReadApi): boolean {
  const acceptAnyHost = one.hosts.length === 0 && other.hosts.length === 0;
  return acceptAnyHost || one.hosts.some((host) => other.hosts.includes(host));
}

/** Reports whether two base paths are equal, or one is below the other. */
function overlap(one: string, other: string): boolean {
  return one !== '' && other !== '' && (`${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`));
}
