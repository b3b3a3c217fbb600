/** Badges and texts for the status of webhook endpoints and deliveries, and for the reasons and errors of failures. */
import { Badge } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import type { Delivery, DeliveryStatus, Endpoint, EndpointStatus, EventType } from './webhooks.js';

const COLORS: Readonly<Record<EndpointStatus | DeliveryStatus, string>> = {
  enabled: 'river',
  paused: 'orange',
  disabled: 'red',
  pending: 'orange',
  succeeded: 'river',
  failed: 'red',
};

/**
 * EndpointState is a badge with the status of an endpoint. An enabled endpoint whose deliveries fail has the label
 * "Failing".
 */
export function EndpointState({ endpoint: { status, failing_since: failingSince } }: { readonly endpoint: Endpoint }) {
  const { t } = useLingui();
  const words = { enabled: t({ message: 'Active', context: 'an endpoint' }), paused: t`Paused`, disabled: t`Disabled` };
  const isFailing = status === 'enabled' && failingSince !== null;
  return (
    <Badge variant="light" color={isFailing ? 'red' : COLORS[status]} style={{ flexShrink: 0 }}>
      {isFailing ? t`Failing` : words[status]}
    </Badge>
  );
}

export function useDeliveryLabels(): Readonly<Record<DeliveryStatus, string>> {
  const { t } = useLingui();
  return { pending: t`Pending`, succeeded: t`Delivered`, failed: t({ message: 'Failed', context: 'a delivery' }) };
}

export function DeliveryState({ delivery: { status } }: { readonly delivery: Delivery }) {
  return (
    <Badge variant="light" color={COLORS[status]} style={{ flexShrink: 0 }}>
      {useDeliveryLabels()[status]}
    </Badge>
  );
}

/**
 * Returns a function that returns the description of an event type. The gateway's own descriptions are translated.
 * Descriptions that the operator wrote are not.
 */
export function useEventDescription(): (type: EventType) => string | null {
  const { i18n } = useLingui();
  return ({ source, description }) =>
    source === 'gateway' && description !== null ? i18n._(description) : description;
}

/** Returns a function that explains why a delivery failed permanently. */
export function useReasonText(): (reason: NonNullable<Delivery['reason']>) => string {
  const { t } = useLingui();
  const words: Readonly<Record<NonNullable<Delivery['reason']>, string>> = {
    exhausted: t`All attempts failed.`,
    test_failed: t`The test did not arrive. A test is sent once.`,
    gone: t`The receiver responded with 410 Gone.`,
    aborted: t`The receiver asked for no more attempts.`,
    expired: t`Pending for more than 30 days.`,
    skipped: t`Skipped when the endpoint was resumed.`,
    endpoint_deleted: t`The endpoint was deleted.`,
  };
  return (reason) => words[reason];
}

/**
 * Returns a function that explains why the API rejected the URL of an endpoint, by reason code. For unknown codes, that
 * function says that the address is not public.
 */
export function useDestinationText(): (reason: string) => string {
  const { t } = useLingui();
  const privateNetwork = t`This URL leads to a private network or to this server. Use a public address.`;
  const notPublic = t`This URL leads to an address that isn't public.`;
  const plainDomain = t`Write the host as a plain domain name, such as shop.example.com.`;
  const words: Readonly<Record<string, string>> = {
    not_a_url: t`Enter a full URL, e.g. https://shop.example.com/webhooks.`,
    too_long: t`Use at most 2,048 characters.`,
    scheme: t`Use an https:// URL.`,
    userinfo: t`Remove the username and password.`,
    fragment: t`Remove the # fragment.`,
    port: t`This port is not allowed.`,
    host_spelling: plainDomain,
    trailing_dot: plainDomain,
    name_malformed: plainDomain,
    name_not_public: privateNetwork,
    denied: t`Your API provider doesn't allow this address.`,
    unspecified: privateNetwork,
    loopback: privateNetwork,
    private: privateNetwork,
    shared: privateNetwork,
    link_local: privateNetwork,
    cloud_metadata: privateNetwork,
  };
  return (reason) => words[reason] ?? notPublic;
}

/**
 * Returns a function that explains why a delivery attempt got no response, by error code. For unknown errors, that
 * function returns the error unchanged.
 */
export function useErrorText(): (error: string) => string {
  const { t } = useLingui();
  const destination = useDestinationText();
  const words: Readonly<Record<string, string>> = {
    name_not_found: t`Host not found.`,
    name_unresolved: t`The host name could not be looked up.`,
    connect_failed: t`Connection refused.`,
    connect_timeout: t`The connection took too long.`,
    tls_failed: t`Invalid TLS certificate or connection.`,
    connection_closed: t`The receiver closed the connection without a response.`,
    response_timeout: t`The receiver took too long to respond.`,
    malformed_response: t`Invalid HTTP response.`,
    head_too_large: t`The response headers are too large.`,
  };
  return (error) => {
    const [, code = error, detail = ''] = /^(\w+)(?: \((.*)\))?$/.exec(error) ?? [];
    if (code === 'address_refused') return destination(detail);
    return words[code] ?? error;
  };
}
