/** The statement of a node to the others: states of its targets, and whether it reaches the counters. */
import { STATES, type MergedTargetStatus } from '../proxy/targets/target-status.js';

/** NodeStatement is what one node, with all its processes, reports about itself. */
export interface NodeStatement {
  /** Host and port for display: `gateway-1:8080`. */
  readonly node: string;
  /** Version of the program. Null if the node is too old to report it. */
  readonly version: string | null;
  readonly processes: number;
  readonly targets: readonly MergedTargetStatus[];
  /** Number of targets that did not fit. */
  readonly targetsLeftOut: number;
  /** When the node lost the counters, in milliseconds since the epoch. Null if it reaches them. */
  readonly quotaStoreLostSinceMs: number | null;
}

/** HeardStatement is a received statement with its age. */
export interface HeardStatement extends NodeStatement {
  readonly ageMs: number;
}

/** Maximum number of targets. Each takes some hundred bytes every few seconds. */
export const MOST_TARGETS = 200;

/** Limits the number of targets. Keeps those that are out of service first. */
export function boundedStatement(statement: Omit<NodeStatement, 'targetsLeftOut'>): NodeStatement {
  const { targets } = statement;
  if (targets.length <= MOST_TARGETS) return { ...statement, targetsLeftOut: 0 };
  const unhealthy = targets.filter(({ state }) => state !== 'healthy');
  const kept = [...unhealthy, ...targets.filter(({ state }) => state === 'healthy')].slice(0, MOST_TARGETS);
  return { ...statement, targets: kept, targetsLeftOut: targets.length - kept.length };
}

/** Parses a statement. Returns undefined if another version has written it in a different format. */
export function parseStatement(text: string): NodeStatement | undefined {
  try {
    const parsed = JSON.parse(text) as Partial<NodeStatement> | null;
    if (typeof parsed?.node !== 'string' || !Array.isArray(parsed.targets)) return undefined;
    if (!parsed.targets.every(isRow)) return undefined;
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

function numberOr<Other>(value: unknown, other: Other): number | Other {
  return typeof value === 'number' ? value : other;
}

function isTextOrNull(value: unknown): boolean {
  return typeof value === 'string' || value === null;
}

function isNumberOrNull(value: unknown): boolean {
  return typeof value === 'number' || value === null;
}

/** Whether a target has all fields that are displayed. */
function isRow(value: unknown): value is MergedTargetStatus {
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
