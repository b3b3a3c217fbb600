/**
 * What a gateway says of itself to those that do not see what it sees: which targets are in
 * service, whether it reaches the counters.
 */
import { STATES, type MergedTargetStatus } from '../proxy/targets/target-status.js';

/** NodeStatement is what one gateway, with all its processes, has said. */
export interface NodeStatement {
  /** Its host and port, for people: `gateway-1:8080`. */
  readonly node: string;
  /** Of the program; null: of one that does not say it. */
  readonly version: string | null;
  readonly processes: number;
  readonly targets: readonly MergedTargetStatus[];
  /** Rows that were too many to be said. */
  readonly targetsLeftOut: number;
  /** Since when it does not reach the counters, ms since the epoch; null: it does. */
  readonly quotaStoreLostSinceMs: number | null;
}

/** HeardStatement is a statement with how old it is. */
export interface HeardStatement extends NodeStatement {
  readonly ageMs: number;
}

/** Rows of one statement: some hundred bytes each, every few seconds. */
export const MOST_TARGETS = 200;

/** The statement with no more rows than it may have; those that are out of service first. */
export function boundedStatement(statement: Omit<NodeStatement, 'targetsLeftOut'>): NodeStatement {
  const { targets } = statement;
  if (targets.length <= MOST_TARGETS) return { ...statement, targetsLeftOut: 0 };
  const out = targets.filter(({ state }) => state !== 'healthy');
  const kept = [...out, ...targets.filter(({ state }) => state === 'healthy')].slice(0, MOST_TARGETS);
  return { ...statement, targets: kept, targetsLeftOut: targets.length - kept.length };
}

/** Reads what a node has written; undefined where another version wrote it that says other things. */
export function parseStatement(text: string): NodeStatement | undefined {
  try {
    const said = JSON.parse(text) as Partial<NodeStatement> | null;
    if (typeof said?.node !== 'string' || !Array.isArray(said.targets)) return undefined;
    if (!said.targets.every(isRow)) return undefined;
    return {
      node: said.node,
      version: typeof said.version === 'string' ? said.version : null,
      processes: numberOr(said.processes, 1),
      targets: said.targets,
      targetsLeftOut: numberOr(said.targetsLeftOut, 0),
      quotaStoreLostSinceMs: numberOr(said.quotaStoreLostSinceMs, null),
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

/** Whether it has all that is shown of a row. */
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
