/** Runs `trailgate check`. Lists all problems of the configuration, or summarizes a valid one. */
import { formatProblems } from '../../config/check.js';
import { EnvironmentError, readEnvironment } from '../../config/model/environment.js';
import { loadConfig } from '../../config/load.js';
import { apisOf, originOf, publicPaths } from '../../config/model/apis.js';
import type { ConfigProblem } from '../../config/model/problem.js';
import type { DescribedTool } from '../../config/model/described-tool.js';
import type { Config, Environment, PlanConfig } from '../../config/model/schema.js';
import { rowsTable } from './table.js';
import { WINDOW_PERIODS } from '../../platform/quotas/windows.js';

const DEFAULT_COLUMNS = 80;

/** CheckOptions control the output of the command. */
export interface CheckOptions {
  /** Prints one JSON document instead of text. */
  readonly json?: boolean;
  /** Width of the terminal in characters. Undefined without a terminal. */
  readonly columns?: number | undefined;
  /** Receives the output. Default: standard output. */
  readonly write?: (text: string) => void;
}

/**
 * Checks a configuration and writes the result.
 * @param path path of `gateway.yaml`
 * @returns the exit code: 0 if the configuration and the environment are valid, otherwise 1
 */
export async function checkCommand(path: string, options: CheckOptions = {}): Promise<number> {
  const write = options.write ?? ((text: string) => void process.stdout.write(text));
  const { environment, environmentProblems } = checkEnvironment();
  const result = await loadConfig(path, environment);
  const problems: readonly ConfigProblem[] = 'problems' in result ? result.problems : [];
  const warnings: readonly ConfigProblem[] = 'config' in result ? result.warnings : [];
  const isValid = 'config' in result && environmentProblems.length === 0;
  if (options.json === true) {
    const published = 'config' in result ? jsonSummary(result.config) : {};
    const document = { valid: isValid, problems, warnings, environment_problems: environmentProblems, ...published };
    write(`${JSON.stringify(document, null, 2)}\n`);
    return isValid ? 0 : 1;
  }
  const blocks =
    environmentProblems.length > 0 ? [`environment\n${environmentProblems.map((text) => `  ${text}`).join('\n')}`] : [];
  const { columns } = options;
  if ('problems' in result) blocks.push(formatProblems(result.problems, { columns }));
  if (warnings.length > 0) blocks.push(formatProblems(warnings, { noun: 'warning', columns }));
  if (isValid) blocks.push(describeConfig(result.config, columns));
  write(`${blocks.join('\n\n')}\n`);
  return isValid ? 0 : 1;
}

/**
 * Reads the environment. If the environment is invalid, returns its problems and an empty environment, so that the file
 * is still checked.
 */
function checkEnvironment(): { environment: Environment; environmentProblems: readonly string[] } {
  try {
    return { environment: readEnvironment(), environmentProblems: [] };
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    return { environment: readEnvironment({}), environmentProblems: error.problems };
  }
}

function describeConfig(config: Config, columns: number | undefined): string {
  const { file, operations, tools = [] } = config;
  const services = Object.entries(file.services).map(([name, service]) => {
    const count = operations.filter((operation) => operation.service === name).length;
    return [name, service.targets.join(', '), String(count)];
  });
  const pathOf = publicPaths(file);
  const rows = operations.map((operation) => [
    operation.method,
    pathOf(operation),
    operation.service,
    operation.scopes.join(' ') || '(any key)',
    String(operation.cost),
  ]);
  const plans = Object.entries(file.plans).map(([name, plan]) => [
    name,
    ...limitCells(plan),
    plan.onRedisLoss,
    plan.charge,
  ]);
  return [
    `${config.path} is valid. Integrators reach ${apisOf(file)
      .map(({ name, basePath }) => originOf(file, name, config.publicUrl) + basePath)
      .join(' and ')}`,
    table(['SERVICE', 'TARGETS', 'OPERATIONS'], services),
    table(['METHOD', 'PATH', 'SERVICE', 'SCOPES', 'COST'], rows),
    table(['PLAN', ...LIMIT_HEADS, 'REDIS LOST', 'CHARGE'], plans),
    ...(tools.length === 0 ? [] : [describeTools(config, tools, columns ?? DEFAULT_COLUMNS)]),
    ...hintsOf(file.services),
  ].join('\n\n');
}

/** Returns hints for services without health checks. */
function hintsOf(services: Config['file']['services']): string[] {
  const names = Object.keys(services).filter((name) => services[name]?.health === undefined);
  if (names.length === 0) return [];
  const text =
    `Hint: no health check for ${names.join(', ')}. With \`health: { path: /health }\`, failing targets are removed ` +
    'before requests reach them.';
  return [text];
}

/** Formats the tools for AI assistants as a table that fits a terminal. */
function describeTools(config: Config, tools: readonly DescribedTool[], mostColumns: number): string {
  const rows = tools.map(({ name, title, operation, tokens }) => {
    const found = config.operations.find(({ id }) => id === operation);
    return { tool: name, title, operation: `${found?.method} ${found?.template}`, tokens };
  });
  const tokens = tools.reduce((sum, tool) => sum + tool.tokens, 0);
  const listed = rowsTable(['tool', 'title', 'operation', 'tokens'], rows, {
    mostColumns,
    shortenedColumns: [['title', 'operation'], ['tool']],
  });
  const count = `${tools.length} tool${tools.length === 1 ? '' : 's'}`;
  return `${listed}${count} for AI assistants, about ${tokens} tokens (a quarter of the characters)`;
}

/** Headings of `limitCells`, such as `KEY/MINUTE`. */
const LIMIT_HEADS = ['key', 'account'].flatMap((of) => WINDOW_PERIODS.map((period) => `${of}/${period}`.toUpperCase()));

function limitCells({ key, account }: PlanConfig): string[] {
  return [key, account].flatMap((of) => WINDOW_PERIODS.map((period) => String(of[period] ?? '-')));
}

function jsonSummary(config: Config): Record<string, unknown> {
  const pathOf = publicPaths(config.file);
  return {
    public_url: config.publicUrl,
    base_paths: apisOf(config.file).map(({ basePath }) => basePath),
    services: Object.entries(config.file.services).map(([name, { targets }]) => ({ name, targets })),
    operations: config.operations.map((operation) => {
      const { id, method, service, scopes, cost } = operation;
      return { id, method, path: pathOf(operation), service, scopes, cost };
    }),
    plans: config.file.plans,
    tools: (config.tools ?? []).map(({ name, title, operation, tokens }) => ({ name, title, operation, tokens })),
  };
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
