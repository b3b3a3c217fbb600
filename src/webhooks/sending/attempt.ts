/**
 * Makes one webhook attempt: signs the body, checks the destination, sends the request, and evaluates the response. A
 * failed attempt is a result and not an error.
 */
import type { GuardedConnections } from '../../http/outbound/guarded-agent.js';
import { parseDestination, type OutboundRules } from '../../http/outbound/destination.js';
import { sendGuarded, type GuardedResponse } from '../../http/outbound/guarded-request.js';
import { OutboundFailed, type FailureReason } from '../../http/outbound/outbound-failed.js';
import { OutboundRefused } from '../../http/outbound/outbound-refused.js';
import type { Clock } from '../../platform/clock.js';
import { METRICS, type OwnResource, type WebhookAttemptOutcome } from '../../platform/metrics.js';
import { resourceOf, SHORTAGES } from '../../platform/resources/shortages.js';
import { formatUtc } from '../../platform/rfc3339.js';
import { VERSION } from '../../platform/version.js';
import { attemptResult, type AttemptResult } from './attempt-outcome.js';
import { signatureFields, type SigningKeys } from '../signing/webhook-signature.js';

/** Maximum number of bytes of the response body that are stored for display. */
const KEPT_BYTES = 1_024;
const USER_AGENT = `Trailgate-Webhooks/${VERSION}`;
const NUL = /\0/g;

/** A webhook to send, and its destination. */
export interface WebhookToSend {
  /** Current URL of the endpoint. */
  readonly url: string;
  /** Event ID, `evt_…`. */
  readonly eventId: string;
  /** Result of `payloadOf`. */
  readonly body: Buffer;
  readonly keys: SigningKeys;
  /** Timeout of the complete attempt. */
  readonly timeoutMs: number;
  /** Trace context of the request that caused the event. */
  readonly traceparent?: string | undefined;
}

/** An event for a webhook body. */
export interface EventToSend {
  /** Event ID, `evt_…`. The header field `webhook-id` has the same value. */
  readonly id: string;
  readonly type: string;
  readonly accountId: string;
  readonly occurredAtMs: number;
  /** JSON text as accepted. */
  readonly data: string;
}

/**
 * Builds the body of a webhook. Inserts `data` unchanged. Parsing `data` would lose duplicate members and digits of
 * large numbers.
 */
export function payloadOf({ id, type, accountId, occurredAtMs, data }: EventToSend): Buffer {
  const head = JSON.stringify({ id, type, timestamp: formatUtc(occurredAtMs), account_id: accountId });
  return Buffer.from(`${head.slice(0, -1)},"data":${data}}`);
}

/** Result of an attempt. */
export interface AttemptMade extends AttemptResult {
  /** Start of the attempt in milliseconds since the epoch. */
  readonly atMs: number;
  readonly durationMs: number;
  /** Null without a response. */
  readonly statusCode: number | null;
  /** Reason for a missing response; null with a response. */
  readonly error: string | null;
  /** Remote address of the response; null without a response. */
  readonly address: string | null;
  /** Beginning of the response body as text; null without a response. */
  readonly responseBody: string | null;
}

/**
 * Result if this process lacked resources for an attempt. The receiver has not failed, and the worker repeats the
 * attempt soon.
 */
export interface ResourceShortage {
  readonly shortOf: OwnResource;
}

/** Dependencies of `WebhookSender`. */
export interface WebhookSenderParts {
  readonly connections: GuardedConnections;
  /** Returns the current rules for destinations. The rules can change with the configuration. */
  readonly rules: () => OutboundRules;
  readonly clock: Clock;
}

/** WebhookSender makes webhook attempts. */
export class WebhookSender {
  constructor(private readonly parts: WebhookSenderParts) {}

  /**
   * Makes an attempt. Rejects only if the webhook cannot be signed, because there is no key or the event ID is invalid.
   */
  async sendWebhook(webhook: WebhookToSend): Promise<AttemptMade | ResourceShortage> {
    const atMs = this.parts.clock.now();
    const signature = signatureFields(webhook.eventId, atMs, webhook.body, webhook.keys);
    const startMs = performance.now();
    try {
      const response = await this.send(webhook, { ...signature });
      return this.resultOf(atMs, startMs, response, undefined);
    } catch (error) {
      const shortOf = shortageIn(error);
      if (shortOf === undefined) return this.resultOf(atMs, startMs, undefined, error);
      SHORTAGES.record(shortOf, 'webhook', (error as OutboundFailed).code);
      return { shortOf };
    }
  }

  private async send(webhook: WebhookToSend, signature: Record<string, string>): Promise<GuardedResponse> {
    const { connections } = this.parts;
    const rules = this.parts.rules();
    const { url, body, timeoutMs, traceparent } = webhook;
    const headers = {
      'content-type': 'application/json',
      'user-agent': USER_AGENT,
      'accept-encoding': 'identity',
      ...signature,
      ...(traceparent === undefined ? {} : { traceparent }),
    };
    const destination = parseDestination(url, rules);
    return await sendGuarded(
      { destination, method: 'POST', headers, body, timeoutMs, keepBytes: KEPT_BYTES },
      { ...connections.options, rules, connections },
    );
  }

  /** Creates the result of an attempt, and counts the attempt. @param error reason why `response` is undefined. */
  private resultOf(atMs: number, startMs: number, response: GuardedResponse | undefined, error: unknown): AttemptMade {
    const durationMs = Math.round(performance.now() - startMs);
    const result = attemptResult(response === undefined ? undefined : responseOf(response), this.parts.clock.now());
    const outcome = response === undefined ? outcomeOf(error) : result.outcome;
    METRICS.webhookAttempts.series(outcome).inc();
    METRICS.webhookAttemptDuration.series(outcome).observe(durationMs / 1_000);
    if (error instanceof OutboundRefused) METRICS.webhookRefusedDestinations.series(error.reason).inc();
    return {
      ...result,
      atMs,
      durationMs,
      statusCode: response?.statusCode ?? null,
      error: response === undefined ? errorText(error) : null,
      address: response?.address ?? null,
      responseBody: response === undefined ? null : textOf(response.body),
    };
  }
}

function responseOf({ statusCode, headers }: GuardedResponse): Parameters<typeof attemptResult>[0] {
  const field = headers['webhook-delivery'];
  return { statusCode, retryAfter: headers['retry-after'], webhookDelivery: Array.isArray(field) ? field[0] : field };
}

/**
 * Decodes a body as UTF-8. Drops a truncated last character. Replaces NUL, because PostgreSQL rejects this character.
 */
function textOf(body: Buffer): string {
  return new TextDecoder().decode(body, { stream: body.length >= KEPT_BYTES }).replaceAll(NUL, '\uFFFD');
}

/**
 * Returns the text of an error for the owner of the endpoint. Leaves out a refused address, so that the owner does not
 * learn internal DNS results.
 */
function errorText(error: unknown): string {
  if (error instanceof OutboundRefused) return `address_refused (${error.reason})`;
  return error instanceof Error ? error.message : String(error);
}

/** Returns the resource of this process whose shortage caused a failure, or undefined. */
function shortageIn(error: unknown): OwnResource | undefined {
  if (!(error instanceof OutboundFailed)) return undefined;
  const isAboutName = error.reason === 'name_not_found' || error.reason === 'name_unresolved';
  // A resolver that cannot open a socket wrongly reports that the name does not exist.
  if (isAboutName) return SHORTAGES.isOutOfDescriptors ? 'file_descriptors' : undefined;
  return resourceOf(error.code);
}

/** Outcomes for metrics by the reason of a failure. */
const OUTCOME_OF: Readonly<Record<FailureReason, WebhookAttemptOutcome>> = {
  name_not_found: 'dns',
  name_unresolved: 'dns',
  connect_failed: 'connect',
  connect_timeout: 'timeout',
  tls_failed: 'tls',
  connection_closed: 'failed',
  response_timeout: 'timeout',
  malformed_response: 'failed',
  head_too_large: 'failed',
};

function outcomeOf(error: unknown): WebhookAttemptOutcome {
  if (error instanceof OutboundRefused) return 'refused';
  return error instanceof OutboundFailed ? OUTCOME_OF[error.reason] : 'failed';
}
