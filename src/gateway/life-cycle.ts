/**
 * What a version and its operations tell their callers about their end: `Deprecation` (RFC 9745), `Sunset` (RFC 8594), what takes
 * their place (RFC 5829); and the end itself, rehearsed in brown-outs.
 */
import type { Clock } from '../clock.js';
import type { Config, LifeCycleDates, Operation } from '../config/schema.js';
import { Problem } from '../errors.js';
import type { Exchange } from './exchange.js';

/** What is worked out once for an operation that will end. */
interface Ending {
  readonly fields: readonly string[];
  readonly deprecatedFromMs: number;
  readonly sunsetMs: number;
  readonly brownouts: readonly { readonly fromMs: number; readonly toMs: number }[];
}

export class LifeCycle {
  /** By the operation's index; nothing for those without dates, which pay one look into this array. */
  private readonly endings: (Ending | undefined)[];

  /** @param publicUrl origin of the API; asked when the first answer needs it. */
  constructor(
    { file, operations }: Pick<Config, 'file' | 'operations'>,
    publicUrl: () => string,
    private readonly clock: Clock,
  ) {
    this.endings = operations.map((operation) => endingOf(operation, file.api, publicUrl));
  }

  /**
   * Adds the fields to the answer.
   * @throws Problem `operation_sunset` (410) from the sunset on, `operation_brownout` (410) in a brown-out; both carry the fields.
   */
  apply(exchange: Exchange, operation: Operation): void {
    const ending = this.endings[operation.index];
    if (ending === undefined) return;
    const nowMs = this.clock.now();
    exchange.answerHeaders.push(...ending.fields);
    exchange.isDeprecated = nowMs >= ending.deprecatedFromMs;
    if (nowMs >= ending.sunsetMs) {
      throw new Problem('operation_sunset', { detail: 'This version or operation of the API has been retired.' });
    }
    const brownout = ending.brownouts.find(({ fromMs, toMs }) => nowMs >= fromMs && nowMs < toMs);
    if (brownout !== undefined) throw brownoutProblem(brownout.toMs, ending.sunsetMs);
  }
}

function brownoutProblem(toMs: number, sunsetMs: number): Problem {
  const end = sunsetMs === Infinity ? 'soon' : `on ${new Date(sunsetMs).toISOString()}`;
  return new Problem('operation_brownout', {
    detail: `This will be retired ${end}; until ${new Date(toMs).toISOString()} it answers as it will then, as a rehearsal.`,
  });
}

function endingOf(operation: Operation, api: LifeCycleDates, publicUrl: () => string): Ending | undefined {
  const own = operation.lifeCycle;
  const deprecation = own?.deprecation ?? api.deprecation;
  const sunset = earlier(own?.sunset ?? null, api.sunset);
  const brownouts = [...(own?.brownouts ?? []), ...api.brownouts];
  if (deprecation === null && sunset === null && brownouts.length === 0) return undefined;
  const dates = { deprecation, sunset, successor: own?.successor ?? api.successor, brownouts };
  let fields: readonly string[] | undefined;
  return {
    get fields() {
      return (fields ??= fieldsOf(dates, publicUrl()));
    },
    deprecatedFromMs: deprecation === null ? Infinity : Date.parse(deprecation),
    sunsetMs: sunset === null ? Infinity : Date.parse(sunset),
    brownouts: brownouts.map(({ from, to }) => ({ fromMs: Date.parse(from), toMs: Date.parse(to) })),
  };
}

function earlier(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return Date.parse(a) <= Date.parse(b) ? a : b;
}

/** RFC 9745 section 2: a structured-field Date, which may lie in the future; RFC 8594 section 3: an HTTP-date. */
function fieldsOf({ deprecation, sunset, successor }: LifeCycleDates, publicUrl: string): string[] {
  const policy = `<${publicUrl}/docs/versioning>`;
  const fields: string[] = [];
  if (deprecation !== null) {
    fields.push('Deprecation', `@${Math.floor(Date.parse(deprecation) / 1_000)}`);
    fields.push('Link', `${policy}; rel="deprecation"; type="text/html"`);
  }
  if (sunset !== null) {
    fields.push('Sunset', new Date(sunset).toUTCString(), 'Link', `${policy}; rel="sunset"; type="text/html"`);
  }
  if (successor !== undefined) {
    fields.push('Link', `<${successor.startsWith('/') ? publicUrl : ''}${successor}>; rel="successor-version"`);
  }
  return fields;
}
