/** Checks webhook endpoints by the current configuration: destination, event types and number of endpoints. */
import type { GatewayFile } from '../../config/model/schema.js';
import { parseDestination, outboundRules, type OutboundRules } from '../../http/outbound/destination.js';
import { OutboundRefused } from '../../http/outbound/outbound-refused.js';
import { Problem, type FieldError } from '../../platform/problems/errors.js';
import type { EventCatalogue } from '../../outbox/event-catalogue.js';

/** Values to check. Undefined values are not checked. */
export interface EndpointInput {
  readonly url: string | undefined;
  readonly eventTypes: readonly string[] | undefined;
  /**
   * Event types that the endpoint already has. These types stay valid even if the configuration no longer defines them.
   */
  readonly known?: readonly string[];
}

/** EndpointRules reads the configuration for each check, so that a changed configuration applies immediately. */
export class EndpointRules {
  /** Cache for `outbound`. */
  private built: { readonly of: GatewayFile['webhooks']; readonly rules: OutboundRules } | undefined;

  constructor(
    private readonly webhooks: () => GatewayFile['webhooks'],
    private readonly events: EventCatalogue,
  ) {}

  /** Maximum number of endpoints per account. */
  get maxEndpoints(): number {
    return this.webhooks().maxEndpoints;
  }

  /** Rules for the destinations of webhooks. */
  get outbound(): OutboundRules {
    const webhooks = this.webhooks();
    if (this.built?.of !== webhooks) this.built = { of: webhooks, rules: outboundRules(webhooks) };
    return this.built.rules;
  }

  /** Checks URL and event types. @throws Problem `validation_failed` with an error for each invalid field. */
  check({ url, eventTypes = [], known = [] }: EndpointInput): void {
    const urlError = url === undefined ? undefined : this.urlErrorOf(url);
    const errors: FieldError[] = urlError === undefined ? [] : [urlError];
    for (const [index, pattern] of eventTypes.entries()) {
      if (known.includes(pattern) || this.events.hasType(pattern)) continue;
      const detail = `${pattern} is not an event type or a family of event types. See the list of event types`;
      errors.push({ pointer: `#/event_types/${index}`, detail });
    }
    if (errors.length > 0) throw new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
  }

  /** Returns the error for a URL that is not permitted, or undefined. */
  private urlErrorOf(url: string): FieldError | undefined {
    try {
      parseDestination(url, this.outbound);
      return undefined;
    } catch (error) {
      if (!(error instanceof OutboundRefused)) throw error;
      return { pointer: '#/url', detail: `The URL ${error.message}`, code: error.reason };
    }
  }
}
