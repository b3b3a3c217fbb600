/**
 * Defines the status report that each node shares with the other nodes, for the admin API and the panel. A report
 * contains the states of the node's targets, and whether the node reaches the quota counters.
 */
import { STATES, type MergedTargetStatus } from '../proxy/targets/target-status.js';

/** NodeStatus is the status report of one node. It covers all processes of the node. */
export interface NodeStatus {
  /** Host and port for display: `gateway-1:8080`. */
  readonly node: string;
  /** Version of the program. Null if the node is too old to report it. */
  readonly version: string | null;
  readonly processes: number;
  readonly targets: readonly MergedTargetStatus[];
  /** Number of targets that were omitted because of `MAX_TARGETS`. */
  readonly targetsLeftOut: number;
  /**
   * When the node lost contact with the counters, in milliseconds since the epoch. Null while the node reaches them.
   */
  readonly quotaStoreLostSinceMs: number | null;
}

/** KnownNodeStatus is a status report received from another node, with the report's age. */
export interface KnownNodeStatus extends NodeStatus {
  readonly ageMs: number;
}

/**
 * Maximum number of targets in a report. Each target takes a few hundred bytes, and nodes write reports every few
 * seconds.
 */
export const MAX_TARGETS = 200;

/**
 * Returns the report with at most `MAX_TARGETS` targets. If there are more targets, healthy targets are omitted first.
 */
export function boundedStatus(status: Omit<NodeStatus, 'targetsLeftOut'>): NodeStatus {
  const { targets } = status;
  if (targets.length <= MAX_TARGETS) return { ...status, targetsLeftOut: 0 };
  const unhealthy = targets.filter(({ state }) => state !== 'healthy');
  const kept = [...unhealthy, ...targets.filter(({ state }) => state === 'healthy')].slice(0, MAX_TARGETS);
  return { ...status, targets: kept, targetsLeftOut: targets.length - kept.length };
}

/**
 * Parses a status report. Returns undefined if the text has another format, for example because another version wrote
 * it.
 */
export function parseStatus(text: string): NodeStatus | undefined {
  try {
    const parsed = JSON.parse(text) as Partial<NodeStatus> | null;
    if (typeof parsed?.node !== 'string' || !Array.isArray(parsed.targets)) return undefined;
    if (!parsed.targets.every(isTargetStatus)) return undefined;
    return {
      node: parsed.node,
      version: typeof parsed.version === 'string' ? parsed.version : null,
      processes: numberOr(parsed.processes, 1),
      targets: parsed.targets,
      targetsLeftOut: numberOr(parsed.targetsLeftOut, 0),
      quotaStoreLostSinceMs: numberOr(parsed.quotaStoreLostSinceMs, null),
    };
  } catch {
    return undefined;
  }
}

function numberOr<Fallback>(value: unknown, fallback: Fallback): number | Fallback {
  return typeof value === 'number' ? value : fallback;
}

function isTextOrNull(value: unknown): boolean {
  return typeof value === 'string' || value === null;
}

function isNumberOrNull(value: unknown): boolean {
  return typeof value === 'number' || value === null;
}

/** Reports whether a value has all target fields that the program displays. */
function isTargetStatus(value: unknown): value is MergedTargetStatus {
  const row = value as Partial<MergedTargetStatus> | null;
  if (typeof row !== 'object' || row === null) return false;
  const { service, target, address, state, inFlight, ejectedUntilMs, lastFailure, processes } = row;
  if (typeof service !== 'string' || typeof target !== 'string' || !isTextOrNull(address)) return false;
  if (!STATES.includes(state as MergedTargetStatus['state'])) return false;
  if (typeof inFlight !== 'number' || !isNumberOrNull(ejectedUntilMs)) return false;
  if (!STATES.every((each) => typeof processes?.[each] === 'number')) return false;
  return lastFailure === null || isFailure(lastFailure);
}

function isFailure(failure: Partial<NonNullable<MergedTargetStatus['lastFailure']>> | undefined): boolean {
  return typeof failure?.outcome === 'string' && typeof failure.status === 'number' && typeof failure.atMs === 'number';
}
