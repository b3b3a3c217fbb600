/** Defines `trailgate targets`, which lists the targets of backends with their state on each gateway. */
import type { Command } from 'commander';
import { systemClock } from '../../platform/clock.js';
import type { Fields } from './admin-client.js';
import { addList, defineCommand } from './command-table.js';
import { rowsTable } from './table.js';
import { MAX_COLUMNS, showFields, type CommonOptions, type Terminal } from './terminal.js';

/**
 * Columns that are shortened if the table is too wide. The columns of the first group are shortened first. `--json` has
 * full values.
 */
const SHORTENED = [
  ['target', 'node'],
  ['service', 'address', 'last_failure'],
];

/** Target has the fields of a target in the admin API that the table shows. */
interface Target {
  readonly service: string;
  readonly target: string;
  readonly address: string | null;
  readonly nodes: readonly TargetOnNode[];
}

interface TargetOnNode {
  readonly node: string;
  readonly age_seconds: number;
  readonly state: string;
  readonly ejected_until: string | null;
  readonly last_failure: {
    readonly at: string;
    readonly outcome: string;
    readonly backend_status: number | null;
  } | null;
}

/** Adds `targets` to the program. */
export function addTargetCommands(program: Command, terminal: Terminal): void {
  const description = 'list backend targets with their state on each gateway';
  addList(program, terminal, defineCommand('targets', description, 'listTargets', { show: showTargets }));
}

function showTargets(body: Fields, options: CommonOptions): string {
  return options.json === true ? showFields(body, options) : targetsTable(body['data'] as Target[]);
}

function targetsTable(targets: readonly Target[]): string {
  if (targets.length === 0) return 'none: no gateway has reported its status in the last minute\n';
  const nodes = [...new Set(targets.flatMap((target) => target.nodes.map(({ node }) => node)))];
  const shortNames = nodes.map(withoutPort);
  const areUnique = new Set(shortNames).size === nodes.length;
  const rows = targets.flatMap((target) =>
    target.nodes.map((seen) => ({
      service: target.service,
      target: target.target,
      address: hasHostName(target) ? target.address : null,
      node: areUnique ? withoutPort(seen.node) : seen.node,
      ...describe(seen),
    })),
  );
  const columns = ['service', 'target', 'address', 'node', 'state', 'age', 'last_failure'];
  const shown = targets.some(hasHostName) ? columns : columns.filter((column) => column !== 'address');
  return rowsTable(shown, rows, { mostColumns: MAX_COLUMNS, shortenedColumns: SHORTENED });
}

function describe({ state, ejected_until: until, age_seconds: age, last_failure: failure }: TargetOnNode): Fields {
  const restMs = until === null ? 0 : Date.parse(until) - systemClock.now();
  return {
    state: restMs > 0 ? `${state} ${span(restMs)}` : state,
    age: span(age * 1_000),
    last_failure:
      failure === null
        ? null
        : `${failure.backend_status ?? failure.outcome} ` +
          `${span(Math.max(0, systemClock.now() - Date.parse(failure.at)))}`,
  };
}

/** Reports whether the target names a host, so that the table must also show its IP address. */
function hasHostName({ target, address }: Target): boolean {
  return address !== null && !target.includes(address);
}

function withoutPort(node: string): string {
  return node.replace(/:\d+$/, '');
}

/** Formats a duration, such as `3s`, `12m`, `5h` or `2d`. */
function span(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)}h` : `${Math.round(seconds / 86_400)}d`;
}
