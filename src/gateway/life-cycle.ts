/** What a version tells its callers about its end: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and where to read on. */
import type { Clock } from '../clock.js';
import type { Config } from '../config/schema.js';
import { Problem } from '../errors.js';
import type { Exchange } from './exchange.js';

export class LifeCycle {
  /** Fields of every answer; none while no date is set, so that a version without dates pays nothing. */
  private readonly fields: readonly string[];
  private readonly sunsetMs: number;

  constructor(
    { api }: Config['file'],
    publicUrl: string,
    private readonly clock: Clock,
  ) {
    const policy = `<${publicUrl}/docs/versioning>`;
    const deprecation = api.deprecation === null ? [] : deprecationFields(api.deprecation, policy);
    const sunset = api.sunset === null ? [] : sunsetFields(api.sunset, policy);
    this.fields = [...deprecation, ...sunset];
    this.sunsetMs = api.sunset === null ? Infinity : Date.parse(api.sunset);
  }

  /**
   * Adds the fields to the answer.
   * @throws Problem `operation_sunset` (410) from the sunset on; it carries the fields too.
   */
  apply(exchange: Exchange): void {
    if (this.fields.length === 0) return;
    exchange.answerHeaders.push(...this.fields);
    if (this.clock.now() >= this.sunsetMs) {
      throw new Problem('operation_sunset', { detail: 'This version of the API has been retired.' });
    }
  }
}

/** RFC 9745 section 2: a structured-field Date, seconds since the epoch; it may lie in the future. */
function deprecationFields(date: string, policy: string): string[] {
  return [
    'Deprecation',
    `@${Math.floor(Date.parse(date) / 1_000)}`,
    'Link',
    `${policy}; rel="deprecation"; type="text/html"`,
  ];
}

/** RFC 8594 section 3: an HTTP-date. */
function sunsetFields(date: string, policy: string): string[] {
  return ['Sunset', new Date(date).toUTCString(), 'Link', `${policy}; rel="sunset"; type="text/html"`];
}
